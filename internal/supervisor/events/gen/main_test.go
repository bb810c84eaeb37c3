// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"testing"
)

func TestTheReferenceIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../../../../" + output)
	if err != nil || !bytes.Equal(have, render()) {
		t.Errorf("%s is not what the catalogue says (%v): run make gen", output, err)
	}
}
