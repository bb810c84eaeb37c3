// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"context"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/config"
	"spawn/internal/supervisor/doctor"
	"spawn/internal/supervisor/verbs"
)

func (s verbServer) GetConfig(_ context.Context, p verbs.ConfigGetParams) (verbs.ConfigGetResult, error) {
	return configGet(s.inForce(), p)
}

func (s verbServer) SetConfig(_ context.Context, p verbs.ConfigSetParams) (verbs.ConfigSetResult, error) {
	out, err := s.settings.Set(config.SetParams{Path: p.Path, Value: p.Value})
	return verbs.ConfigSetResult{File: out.File, Live: out.Live}, verbError(err)
}

func (s verbServer) CheckConfig(context.Context, verbs.Empty) (verbs.ConfigCheckResult, error) {
	return configCheck(s.settings)
}

func (s verbServer) ReloadConfig(ctx context.Context, _ verbs.Empty) (verbs.ConfigReloadResult, error) {
	out, err := s.settings.Reload(ctx)
	s.noteReload(out, err)
	return verbs.ConfigReloadResult{Changed: out.Changed, Waiting: out.NeedsRestart}, verbError(err)
}

func (s verbServer) ConfigSchema(context.Context, verbs.Empty) (verbs.ConfigSchemaResult, error) {
	return configSchema(), nil
}

func (s verbServer) Diagnose(ctx context.Context, p verbs.DoctorParams) (verbs.DoctorResult, error) {
	report, err := s.Doctor(ctx, doctor.Params{Checks: p.Checks})
	return doctorResult(report), verbError(err)
}

// Unattended does the verbs of the settings where no spawnd runs. It has no other verb, and nothing that
// could be put in force.
type Unattended struct {
	verbs.Server // nil
	file         *config.File
	folder       string // where the file is
	o            Options
}

// NewUnattended names the folders of that environment and touches nothing.
func NewUnattended(o Options) (Unattended, error) {
	_, folders, err := whereabouts(o)
	return Unattended{file: config.OpenFile(folders.Settings()), folder: folders.Config, o: o}, err
}

// GetConfig tells what the next spawnd would start with.
func (u Unattended) GetConfig(_ context.Context, p verbs.ConfigGetParams) (verbs.ConfigGetResult, error) {
	c, err := u.file.Load()
	if err != nil {
		return verbs.ConfigGetResult{}, verbError(err)
	}
	return configGet(c, p)
}

// SetConfig is that of verbs.Settings. It makes the file's folder, as the next spawnd would.
func (u Unattended) SetConfig(_ context.Context, p verbs.ConfigSetParams) (verbs.ConfigSetResult, error) {
	if err := config.CreatePrivate(u.folder); err != nil {
		return verbs.ConfigSetResult{}, verbError(err)
	}
	out, err := u.file.Set(config.SetParams{Path: p.Path, Value: p.Value})
	return verbs.ConfigSetResult{File: out.File, Live: out.Live}, verbError(err)
}

// CheckConfig is that of verbs.Settings.
func (u Unattended) CheckConfig(context.Context, verbs.Empty) (verbs.ConfigCheckResult, error) {
	return configCheck(u.file)
}

// ConfigSchema is that of verbs.Settings.
func (Unattended) ConfigSchema(context.Context, verbs.Empty) (verbs.ConfigSchemaResult, error) {
	return configSchema(), nil
}

// Diagnose looks at the machine alone.
func (u Unattended) Diagnose(ctx context.Context, p verbs.DoctorParams) (verbs.DoctorResult, error) {
	report, err := Examine(ctx, u.o, doctor.Params{Checks: p.Checks})
	return doctorResult(report), verbError(err)
}

func configGet(c config.Config, p verbs.ConfigGetParams) (verbs.ConfigGetResult, error) {
	found, err := config.Get(c, config.GetParams{Path: p.Path})
	if err != nil {
		return verbs.ConfigGetResult{}, verbError(err)
	}
	var out verbs.ConfigGetResult
	for _, e := range found.Entries {
		value, err := strictjson.Marshal(e.Value)
		if err != nil {
			return verbs.ConfigGetResult{}, err
		}
		usual, err := strictjson.Marshal(e.Default)
		if err != nil {
			return verbs.ConfigGetResult{}, err
		}
		out.Entries = append(out.Entries, verbs.Setting{Path: e.Path, Value: value, Default: usual, Live: e.Live})
	}
	return out, nil
}

func configCheck(file doctor.Settings) (verbs.ConfigCheckResult, error) {
	found, err := file.Check()
	return verbs.ConfigCheckResult{
		File: found.File, OK: found.OK, Problems: mapped(found.Problems, func(p config.Problem) verbs.Problem { return verbs.Problem(p) }),
	}, verbError(err)
}

func configSchema() verbs.ConfigSchemaResult {
	return verbs.ConfigSchemaResult{Schema: verbs.Raw(config.SchemaNow().Schema)}
}

func doctorResult(r doctor.Report) verbs.DoctorResult {
	return verbs.DoctorResult{
		Version: r.Version, Status: string(r.Status), Results: mapped(r.Results, func(one doctor.Result) verbs.Finding {
			return verbs.Finding{
				Name: one.Name, Status: string(one.Status), Message: one.Message, Why: one.Why, Remedy: one.Remedy, TookMS: one.TookMS,
			}
		}),
	}
}
