// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/shape"
)

// document is a JSON Schema of a request line, with every type by name.
type document struct {
	Schema string                   `json:"$schema"`
	Title  string                   `json:"title"`
	OneOf  []request                `json:"oneOf"`
	Defs   map[string]*shape.Schema `json:"$defs"`
}

type request struct {
	Type       string            `json:"type"`
	Title      string            `json:"title"`
	Properties requestProperties `json:"properties"`
	Required   []string          `json:"required"`
	Additional bool              `json:"additionalProperties"`
}

type requestProperties struct {
	ID     *shape.Schema `json:"id"`
	Verb   constant      `json:"verb"`
	Params reference     `json:"params"`
	Token  *shape.Schema `json:"token"`
}

type constant struct {
	Const string `json:"const"`
}

type reference struct {
	Ref string `json:"$ref"`
}

// jsonSchema returns docs/verbs.schema.json.
func jsonSchema() []byte {
	d := document{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "a request to spawnd's control socket",
		Defs: map[string]*shape.Schema{},
	}
	for _, v := range verbs.Table() {
		d.Defs[v.Name+".params"], d.Defs[v.Name+".result"] = v.Params.Schema(), v.Result.Schema()
		required := []string{"id", "verb"}
		if len(d.Defs[v.Name+".params"].Required) > 0 {
			required = append(required, "params")
		}
		d.OneOf = append(d.OneOf, request{
			Type: "object", Title: v.Summary, Required: required,
			Properties: requestProperties{
				ID:     &shape.Schema{Type: "integer", Description: "the answer has the same"},
				Verb:   constant{v.Name},
				Params: reference{"#/$defs/" + v.Name + ".params"},
				Token:  &shape.Schema{Type: "string", Description: "who asks; without it the kernel's word on the peer decides"},
			},
		})
	}
	text, err := strictjson.Marshal(d)
	var out bytes.Buffer
	if err == nil {
		err = json.Indent(&out, text, "", "  ")
	}
	if err != nil {
		panic(fmt.Sprintf("gen: internal error: %v", err))
	}
	out.WriteByte('\n')
	return out.Bytes()
}
