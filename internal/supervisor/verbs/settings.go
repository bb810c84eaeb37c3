// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"context"
	"time"
)

// Settings is what the verbs of the settings file act on.
type Settings interface {
	GetConfig(ctx context.Context, p ConfigGetParams) (ConfigGetResult, error)
	SetConfig(ctx context.Context, p ConfigSetParams) (ConfigSetResult, error)
	CheckConfig(ctx context.Context, p Empty) (ConfigCheckResult, error)
	ReloadConfig(ctx context.Context, p Empty) (ConfigReloadResult, error)
	ConfigSchema(ctx context.Context, p Empty) (ConfigSchemaResult, error)
	// Diagnose runs the checks of doctor.
	Diagnose(ctx context.Context, p DoctorParams) (DoctorResult, error)
}

// Names of the verbs of settings.
const (
	ConfigGet    = "config.get"
	ConfigSet    = "config.set"
	ConfigCheck  = "config.check"
	ConfigReload = "config.reload"
	ConfigSchema = "config.schema"
	Doctor       = "doctor"
)

type (
	ConfigGetParams struct {
		Path string `json:"path,omitzero" max:"128" help:"key, such as serve.listen, or section; left out: everything"`
	}

	ConfigGetResult struct {
		Entries []Setting `json:"entries" help:"keys in the order of the documents"`
	}

	// Setting is one key and its value.
	Setting struct {
		Path    string `json:"path" help:"key"`
		Value   Raw    `json:"value" help:"value in force"`
		Default Raw    `json:"default" help:"value without the file"`
		Live    bool   `json:"live" help:"a reload puts it in force; otherwise the next start does"`
	}

	ConfigSetParams struct {
		Path  string `json:"path" min:"1" max:"128" help:"key, such as serve.listen"`
		Value string `json:"value" max:"16384" help:"value as JSON, or a text as it is"`
	}

	ConfigSetResult struct {
		File string `json:"file" help:"path of the settings file"`
		Live bool   `json:"live" help:"a reload will put it in force; otherwise the next start will"`
	}

	ConfigCheckResult struct {
		File     string    `json:"file" help:"path of the settings file"`
		OK       bool      `json:"ok" help:"it could be put in force"`
		Problems []Problem `json:"problems" help:"what is wrong in it"`
	}

	Problem struct {
		Path    string `json:"path" help:"key, or what stands in its place; empty for the whole file"`
		Line    int    `json:"line" help:"line, the first is 1; 0 when it is of no place"`
		Column  int    `json:"column" help:"character of the line, the first is 1"`
		Message string `json:"message" help:"what is wrong"`
	}

	ConfigReloadResult struct {
		Changed []string `json:"changed" help:"keys that are in force anew"`
		Waiting []string `json:"waiting" help:"keys that wait for the next start"`
	}

	ConfigSchemaResult struct {
		Schema Raw `json:"schema" help:"JSON Schema of the settings, for editors"`
	}

	DoctorParams struct {
		Checks []string `json:"checks,omitzero" min:"1" max:"64" help:"names of checks; left out: all"`
	}

	DoctorResult struct {
		Version string    `json:"version" help:"version that looked"`
		Status  string    `json:"status" enum:"ok,info,warn,error" help:"the worst of all"`
		Results []Finding `json:"results" help:"what each check saw"`
	}

	Finding struct {
		Name    string `json:"name" help:"name of the check"`
		Status  string `json:"status" enum:"ok,info,warn,error" help:"how it stands"`
		Message string `json:"message" help:"what was seen"`
		Why     string `json:"why" help:"what a failure means for terminals"`
		Remedy  string `json:"remedy" help:"what to do; empty when there is nothing"`
		TookMS  int64  `json:"took_ms" help:"how long the check took"`
	}
)

func (ConfigGetParams) on() Resource { return ServerRoot }
func (ConfigSetParams) on() Resource { return ServerRoot }
func (DoctorParams) on() Resource    { return ServerRoot }

// doctorTimeout is longer than a run of all checks takes, which has bounds of its own.
const doctorTimeout = 45 * time.Second

var settingVerbs = []Verb{
	row[ConfigGetParams, ConfigGetResult]{
		Name: ConfigGet, Summary: "tell the settings in force", Right: RightAdmin,
		Errors: []Code{CodeNoKey}, Example: ConfigGetParams{"serve"},
		Do: via(Settings.GetConfig),
	}.verb(),
	row[ConfigSetParams, ConfigSetResult]{
		Name: ConfigSet, Summary: "change a key in the settings file, and nothing that is in force", Right: RightAdmin,
		Errors: []Code{CodeNoKey, CodeSetting, CodeSettingsFile, CodeChanged}, Example: ConfigSetParams{"recovery.enabled", "true"},
		Do: via(Settings.SetConfig),
	}.verb(),
	row[Empty, ConfigCheckResult]{
		Name: ConfigCheck, Summary: "check the settings file, with no effect", Right: RightAdmin,
		Errors: []Code{CodeSettingsFile},
		Do:     via(Settings.CheckConfig),
	}.verb(),
	row[Empty, ConfigReloadResult]{
		Name: ConfigReload, Summary: "put the settings file in force, whole or not at all", Right: RightAdmin,
		Errors: []Code{CodeSetting, CodeSettingsFile, CodeNotInForce},
		Do:     via(Settings.ReloadConfig),
	}.verb(),
	row[Empty, ConfigSchemaResult]{
		Name: ConfigSchema, Summary: "print the JSON Schema of the settings", Right: RightRead,
		Do: via(Settings.ConfigSchema),
	}.verb(),
	row[DoctorParams, DoctorResult]{
		Name: Doctor, Summary: "look for what would keep terminals from living, being reached or being private", Right: RightAdmin,
		Errors: []Code{CodeNoCheck}, Example: DoctorParams{[]string{"worker.canary"}},
		Within: func(DoctorParams) time.Duration { return doctorTimeout },
		Do:     via(Settings.Diagnose),
	}.verb(),
}
