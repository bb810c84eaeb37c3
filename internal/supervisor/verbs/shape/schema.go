// SPDX-License-Identifier: Apache-2.0

package shape

// Schema is the part of JSON Schema (draft 2020-12) that our types need.
type Schema struct {
	Type        any                `json:"type"` // a name, or a name and null
	Description string             `json:"description,omitzero"`
	Properties  map[string]*Schema `json:"properties,omitzero"`
	Required    []string           `json:"required,omitzero"`
	// AdditionalProperties is false for every object: a member that is not known is refused.
	AdditionalProperties *bool    `json:"additionalProperties,omitzero"`
	Items                *Schema  `json:"items,omitzero"`
	Enum                 []string `json:"enum,omitzero"`
	Pattern              string   `json:"pattern,omitzero"`
	Minimum              *int64   `json:"minimum,omitzero"`
	Maximum              *int64   `json:"maximum,omitzero"`
	// MinLength and MaxLength count characters and ours count bytes, so MaxLength is what no allowed text
	// exceeds, and MinLength is there only to refuse the empty text.
	MinLength *int64 `json:"minLength,omitzero"`
	MaxLength *int64 `json:"maxLength,omitzero"`
	MinItems  *int64 `json:"minItems,omitzero"`
	MaxItems  *int64 `json:"maxItems,omitzero"`
}

// Schema describes the struct. What it refuses, Decode refuses.
func (s Struct) Schema() *Schema {
	closed := false
	o := &Schema{Type: "object", Properties: map[string]*Schema{}, AdditionalProperties: &closed}
	for _, m := range s.Members {
		o.Properties[m.Name] = m.Schema()
		if !m.Optional {
			o.Required = append(o.Required, m.Name)
		}
	}
	return o
}

// Schema describes the member.
func (m Member) Schema() *Schema {
	s := kindSchema(m.Kind, m.Of)
	s.Description = m.Help
	if m.Null {
		s.Type = []string{s.Type.(string), "null"}
	}
	switch m.Kind {
	case Text:
		s.Enum, s.MaxLength = m.Enum, m.Max
		if m.Min != nil && *m.Min > 0 {
			one := int64(1)
			s.MinLength = &one
		}
		if m.Form != "" {
			s.Pattern = forms[m.Form].pattern.String()
		}
	case Whole:
		s.Minimum, s.Maximum = m.Min, m.Max
	case List:
		s.Items = kindSchema(m.Elem, m.Of)
		s.MinItems, s.MaxItems = m.Min, m.Max
	}
	return s
}

func kindSchema(k Kind, of *Struct) *Schema {
	switch k {
	case Whole:
		return &Schema{Type: "integer"}
	case Flag:
		return &Schema{Type: "boolean"}
	case List:
		return &Schema{Type: "array"}
	case Record:
		return of.Schema()
	case Decimal:
		return &Schema{Type: "string", Pattern: "^(0|[1-9][0-9]{0,19})$"}
	}
	return &Schema{Type: "string"}
}
