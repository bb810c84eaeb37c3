// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"
)

const testID = "0b5ff7a0-5bd5-4f0b-9d5e-3d0a3f6f9c11"

func TestParse(t *testing.T) {
	for line, refusal := range map[string]string{
		"--session-id " + testID + " --worker-dir /w":                                            "",
		"--session-id " + testID + " --worker-dir /w --segment-bytes 1024 --max-log-bytes 65536": "",
		"--worker-dir /w": "--session-id",
		"--session-id ../../etc/passwd --worker-dir /w":                       "--session-id",
		"--session-id " + strings.ToUpper(testID) + " --worker-dir /w":        "--session-id",
		"--session-id " + testID:                                              "--worker-dir",
		"--session-id " + testID + " --worker-dir w":                          "--worker-dir",
		"--session-id " + testID + " --worker-dir /w more":                    "arguments",
		"--session-id " + testID + " --worker-dir /w --nope":                  "nope",
		"--session-id " + testID + " --worker-dir /w --segment-bytes 0":       "--segment-bytes",
		"--session-id " + testID + " --worker-dir /w --segment-bytes x":       "segment-bytes",
		"--session-id " + testID + " --worker-dir /w --max-log-bytes 8388609": "--max-log-bytes",
		"--session-id " + testID + " --worker-dir /w --max-log-bytes -1":      "--max-log-bytes",
	} {
		cfg, _, err := parse(strings.Fields(line))
		switch {
		case refusal == "" && (err != nil || string(cfg.SessionID) != testID || cfg.Folder != "/w"):
			t.Errorf("%s: %+v, %v", line, cfg, err)
		case refusal == "" && (cfg.SegmentBytes != 0) != strings.Contains(line, "--segment-bytes 1024"):
			t.Errorf("%s: segments of %d, where the log's own choice is 0", line, cfg.SegmentBytes)
		case refusal == "" && (cfg.MaxLogBytes != 0) != strings.Contains(line, "--max-log-bytes 65536"):
			t.Errorf("%s: a log of %d, where its own choice is 0", line, cfg.MaxLogBytes)
		case refusal != "" && (err == nil || !strings.Contains(err.Error(), refusal)):
			t.Errorf("%s: %v, want a word about %s", line, err, refusal)
		}
	}
}

func TestVersionNeedsNothingElse(t *testing.T) {
	var out, complaints strings.Builder
	if code := run([]string{"--version"}, &out, &complaints); code != 0 || !strings.HasPrefix(out.String(), "spawn-worker ") {
		t.Errorf("code %d, %q, %q", code, out.String(), complaints.String())
	}
	if code := run([]string{"--help-me"}, &out, &complaints); code != exitInvalid || complaints.Len() == 0 {
		t.Errorf("code %d, %q", code, complaints.String())
	}
}
