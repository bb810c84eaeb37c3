// SPDX-License-Identifier: Apache-2.0

package systemd

import "fmt"

// Limits bound a scope, its worker with all that runs on its terminal. Zero leaves a limit to the slice and the
// kernel. They are those of systemd.resource-control(5), and hold where the manager has the controller: a user's
// manager has been given cpu, memory and pids since systemd 244.
type Limits struct {
	MemoryMaxBytes uint64 // above it the kernel reclaims, then kills a process of the scope
	TasksMax       uint64 // processes and threads, the worker's own among them; a fork beyond fails
	CPUWeight      uint64 // share under contention, 1 to 10000; what is not limited has 100
}

const (
	// memoryLeastBytes is what a worker takes at its busiest, a full replay and a large screen, beside its program.
	memoryLeastBytes = 64 << 20
	// tasksLeast has room for the worker's threads, its shell, and a pipe of some commands.
	tasksLeast = 32
	// cpuWeightMax is the kernel's.
	cpuWeightMax = 10_000
)

// Check refuses limits with which no terminal could live.
func (l Limits) Check() error {
	switch {
	case l.MemoryMaxBytes != 0 && l.MemoryMaxBytes < memoryLeastBytes:
		return fmt.Errorf("check limits: %d bytes of memory for a terminal, at least %d", l.MemoryMaxBytes, memoryLeastBytes)
	case l.TasksMax != 0 && l.TasksMax < tasksLeast:
		return fmt.Errorf("check limits: %d tasks for a terminal, at least %d", l.TasksMax, tasksLeast)
	case l.CPUWeight > cpuWeightMax:
		return fmt.Errorf("check limits: CPU weight %d for a terminal, at most %d", l.CPUWeight, cpuWeightMax)
	}
	return nil
}
