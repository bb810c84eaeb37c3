// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"spawn/internal/strictjson"
)

// explainedBytesMax bounds the file of explanations.
const explainedBytesMax = 1 << 20

// explanation says why cases differ in a check, and who does as we do.
type explanation struct {
	Check  string   `json:"check"`
	Agrees string   `json:"agrees"`
	Why    string   `json:"why"`
	Cases  []string `json:"cases"` // suite/name
}

// explanations are indexed by check and case.
type explanations map[[2]string]*explanation

// readExplained reads the file of explanations. Each needs a reason and somebody who agrees with us,
// and a case is explained once.
func readExplained(path string) (explanations, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the explanations: %w", err)
	}
	var file struct {
		Differences []*explanation `json:"differences"`
	}
	if len(text) > explainedBytesMax {
		return nil, fmt.Errorf("read the explanations: more than %d bytes", explainedBytesMax)
	}
	if err := strictjson.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	out := explanations{}
	for i, e := range file.Differences {
		if e.Agrees == "" || e.Why == "" || len(e.Cases) == 0 {
			return nil, fmt.Errorf("read %s: explanation %d lacks cases, a reason or who agrees", path, i)
		}
		for _, c := range e.Cases {
			at := [2]string{e.Check, c}
			if out[at] != nil {
				return nil, fmt.Errorf("read %s: %s is explained twice for %s", path, c, e.Check)
			}
			out[at] = e
		}
	}
	return out, nil
}
