// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"
	"time"

	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/events"
	"spawn/internal/supervisor/fleet"
	"spawn/internal/supervisor/topology"
)

// openSettings reads the settings file, once its folder is ours alone. Flags win over it.
func (s *Supervisor) openSettings(folders config.Folders) error {
	live, err := config.OpenLive(config.OpenFile(folders.Settings()), func(c *config.Config) {
		if s.o.Listen != "" {
			c.Serve.Listen = s.o.Listen
		}
		if s.o.PeerPort != nil {
			c.Serve.PeerPort = int64(*s.o.PeerPort)
		}
	})
	s.settings = live
	return err
}

// watchSettings puts changes of the file in force until ctx ends.
func (s *Supervisor) watchSettings(ctx context.Context) {
	look := time.NewTicker(config.PollEvery)
	defer look.Stop()
	s.settings.Watch(ctx, look.C, func(out config.Outcome, err error) {
		if err != nil {
			s.o.Log.Error("changed settings are not in force", "error", err)
			return
		}
		if len(out.Changed) > 0 {
			s.panes.happened(events.Change{Type: events.ConfigReloaded, Resource: topology.Root, Data: map[string]any{"keys": out.Changed}})
		}
		s.o.Log.Info("changed settings are read", "in_force", out.Changed, "at_next_start", out.NeedsRestart)
	})
}

func terminalLimits(t config.Terminal) fleet.Limits {
	return fleet.Limits{MemoryMaxBytes: uint64(t.MemoryMaxBytes), TasksMax: uint64(t.TasksMax), CPUWeight: uint64(t.CPUWeight)}
}
