// SPDX-License-Identifier: Apache-2.0

package shellmarks

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"spawn/internal/sessiond/pty"
	"spawn/internal/unmet"
)

const patience = 30 * time.Second // of a test that waits for a shell on a loaded machine

// shell is a real one on a real terminal, with a home of its own.
type shell struct {
	*testing.T
	term   *pty.Terminal
	output chan []byte
	seen   string
	home   string
	nonce  string
}

func start(t *testing.T, argv []string, files map[string]string, extra ...string) *shell {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		unmet.Skip(t, "%s is not installed", argv[0])
	}
	argv[0] = path
	home := t.TempDir()
	for name, text := range files {
		at := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	scripts, err := Install(filepath.Join(t.TempDir(), "shell"))
	if err != nil {
		t.Fatal(err)
	}
	env := append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8"}, extra...)
	argv, env = scripts.Dress("test", argv, env)
	term, err := pty.Start(pty.Options{Argv: argv, Env: env, Cwd: home, Cols: 200, Rows: 50})
	if err != nil {
		t.Fatal(err)
	}
	s := &shell{T: t, term: term, output: make(chan []byte, 64), home: home, nonce: scripts.Nonce("test")}
	go s.read()
	t.Cleanup(s.end)
	return s
}

func (s *shell) read() {
	defer close(s.output)
	for {
		p := make([]byte, 4096)
		n, err := s.term.Read(p)
		if err != nil {
			return
		}
		s.output <- p[:n]
	}
}

func (s *shell) end() {
	if err := s.term.SignalGroup(syscall.SIGKILL); err != nil {
		s.Error(err)
	}
	for range s.output {
	}
	if _, err := s.term.Wait(); err != nil {
		s.Error(err)
	}
	if err := s.term.Close(); err != nil {
		s.Error(err)
	}
}

// until reads until the output since the last call matches, and returns that output.
func (s *shell) until(pattern string) string {
	s.Helper()
	want := regexp.MustCompile(pattern)
	deadline := time.After(patience)
	for {
		if at := want.FindStringIndex(s.seen); at != nil {
			out := s.seen[:at[1]]
			s.seen = s.seen[at[1]:]
			return out
		}
		select {
		case p, ok := <-s.output:
			if !ok {
				s.Fatalf("the shell ended; after %q", s.seen)
			}
			s.seen += string(p)
		case <-deadline:
			s.Fatalf("no %q in %q", pattern, s.seen)
		}
	}
}

func (s *shell) run(line string) string {
	s.Helper()
	if _, err := s.term.Write([]byte(line + "\r")); err != nil {
		s.Fatal(err)
	}
	s.until(`\x1b\]133;C;nonce=` + s.nonce + `\a`)
	out := s.until(`\x1b\]133;D;[0-9]+;nonce=` + s.nonce + `\a`)
	s.until(`\x1b\]133;A;nonce=` + s.nonce + `\a`)
	return out
}

// requireMarks drives the shell as a person does and requires every mark, in order and with the right status.
func (s *shell) requireMarks() {
	s.Helper()
	s.until(`\x1b\]133;A`)
	for _, c := range []struct{ line, wrote, status string }{
		{"echo hello $HOME", "hello " + s.home, "0"}, {"false", "", "1"}, {"sh -c 'exit 42'", "", "42"},
	} {
		s.requireStatus(c.line, c.wrote, c.status)
	}
	s.requireStatus(`env | grep -cF "$__spawn_nonce"`, "0\r\n", "1") // no program has it
}

func (s *shell) requireStatus(line, wrote, status string) {
	s.Helper()
	if out := s.run(line); !strings.Contains(out, wrote) || !strings.Contains(out, "133;D;"+status+";") {
		s.Errorf("%q gave %q, want %q and status %s", line, out, wrote, status)
	}
}

// Whatever the user makes of PROMPT_COMMAND and of the prompts, the status is the command's.
func TestBashMarksOutliveWhatTheUserChanges(t *testing.T) {
	for name, change := range map[string]string{
		"a word in front":              `PROMPT_COMMAND="history -a; $PROMPT_COMMAND"`,
		"twice":                        `PROMPT_COMMAND="true; $PROMPT_COMMAND"; PROMPT_COMMAND="history -a; $PROMPT_COMMAND"`,
		"an element in front":          `PROMPT_COMMAND=(true "${PROMPT_COMMAND[@]}")`,
		"a word in front of the first": `PROMPT_COMMAND=("history -a; ${PROMPT_COMMAND[0]}" true)`,
		"none":                         `PROMPT_COMMAND=`,
		"no variable":                  `unset PROMPT_COMMAND`,
		"another":                      `PROMPT_COMMAND=true`,
		"prompts behind":               `PROMPT_COMMAND+='; PS1="\$? \u\$ "'`,
		"exported":                     `export PS1 PS0; set -a; set -u`,
		"strict":                       `set -u; PROMPT_COMMAND="history -a; $PROMPT_COMMAND"`,
		"other prompts":                `PS0=; PS1='$(true)new> '`,
	} {
		t.Run(name, func(t *testing.T) {
			s := start(t, []string{"bash", "-l"}, nil)
			s.until(`\x1b\]133;B`)
			if _, err := s.term.Write([]byte(change + "\r")); err != nil {
				t.Fatal(err)
			}
			s.until(`\x1b\]133;D;0;nonce=` + s.nonce) // here or there, before the prompt or in it
			for _, status := range []string{"3", "0", "4"} {
				s.requireStatus("echo hi; (exit "+status+")", "hi\r\n", status)
			}
			s.requireStatus(`env | grep -cF "$__spawn_nonce"`, "0\r\n", "1")
		})
	}
}

func (s *shell) requireFolder() {
	s.Helper()
	dir := filepath.Join(s.TempDir(), "a b%ü")
	if err := os.Mkdir(dir, 0o700); err != nil {
		s.Fatal(err)
	}
	if _, err := s.term.Write([]byte("cd '" + dir + "'\r")); err != nil {
		s.Fatal(err)
	}
	s.until(`\x1b\]7;file://[^/]*/[^\a\x1b]*a%20b%25%C3%BC(\a|\x1b\\)`)
}

const userBash = `PROMPT_COMMAND='seen=$?; PS1="user\$ "; '` + "\n" + `trap 'echo BYE' EXIT` + "\n"

func TestBashMarks(t *testing.T) {
	for _, c := range []struct {
		name  string
		argv  []string
		files map[string]string
		sees  string
	}{
		{"login", []string{"bash", "-l"}, map[string]string{".bash_profile": "who=profile\n" + userBash, ".profile": "who=wrong\n", ".bashrc": "who=wrong\n"}, "profile"},
		{"login, last choice", []string{"bash", "-l"}, map[string]string{".profile": "who=dotprofile\n" + userBash}, "dotprofile"},
		{"not login", []string{"bash"}, map[string]string{".bash_profile": "who=wrong\n", ".bashrc": "who=rc\n" + userBash}, "rc"},
		{"array", []string{"bash", "-l"}, map[string]string{".bash_profile": "who=array\nPROMPT_COMMAND=('seen=$?' 'PS1=\"user\\$ \"')\n"}, "array"},
		{"strict", []string{"bash", "-l"}, map[string]string{".bash_profile": "who=strict\nseen=\nset -u\n"}, "strict"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, c.argv, c.files)
			s.requireMarks()
			out := s.run(`echo "[$who][${ENV-none}][$(shopt -qo posix || echo bash)][${HISTFILE##*/}][$0]"`)
			if want := "[" + c.sees + "][none][bash][.bash_history]"; !strings.Contains(out, want) {
				t.Errorf("the shell says %q, want %q", out, want)
			}
			if c.name != "strict" {
				s.run("sh -c 'exit 7'")
				if out := s.run(`echo "saw $seen"`); !strings.Contains(out, "saw 7") {
					t.Errorf("the user's own hook: %q, want the status of the command before", out)
				}
			}
			s.requireFolder()
		})
	}
}

func TestZshMarks(t *testing.T) {
	rc := "who=$who-rc\nprecmd() { PS1='user%% ' }\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		extra []string
		want  string
	}{
		{"home", map[string]string{".zshenv": "who=env\n", ".zprofile": "who=$who-profile\n", ".zshrc": rc}, nil, "[env-profile-rc][none][none]"},
		{"own ZDOTDIR", map[string]string{".zshenv": "export ZDOTDIR=$HOME/z\nwho=env\n", "z/.zprofile": "who=$who-zprofile\n", "z/.zshrc": rc}, nil, "[env-zprofile-rc]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := start(t, []string{"zsh", "-l"}, c.files, c.extra...)
			s.requireMarks()
			if out := s.run(`echo "[$who][${ZDOTDIR-none}][${SPAWN_ZDOTDIR-none}]"`); !strings.Contains(out, c.want) {
				t.Errorf("the shell says %q, want %q", out, c.want)
			}
			s.requireFolder()
		})
	}
	t.Run("odd options and hooks", func(t *testing.T) {
		s := start(t, []string{"zsh", "-l"}, map[string]string{".zshrc": "setopt ksh_arrays no_unset\nexport PS1\n"})
		s.requireMarks()
		s.run("preexec_functions=()")
		s.requireStatus("(exit 5)", "", "5")
	})
	t.Run("inherited ZDOTDIR", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, ".zshrc"), []byte("who=inherited\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s := start(t, []string{"zsh", "-l"}, nil, "ZDOTDIR="+dir)
		s.requireMarks()
		if out, want := s.run(`echo "[$who][$ZDOTDIR]"`), fmt.Sprintf("[inherited][%s]", dir); !strings.Contains(out, want) {
			t.Errorf("the shell says %q, want %q", out, want)
		}
	})
}

func TestFishMarks(t *testing.T) {
	for _, dirs := range []string{"", "/opt/share:/usr/share"} {
		t.Run("XDG_DATA_DIRS="+dirs, func(t *testing.T) {
			var extra []string
			want := "[none][none]"
			if dirs != "" {
				extra, want = []string{"XDG_DATA_DIRS=" + dirs}, "["+dirs+"][none]"
			}
			s := start(t, []string{"fish", "-l"}, map[string]string{".config/fish/config.fish": "set -g who config\n"}, extra...)
			s.requireMarks()
			out := s.run(`test $who = config; and echo "["(env | string replace -rf '^XDG_DATA_DIRS=' ''; or echo none)"]["(set -q SPAWN_FISH_DIR; and echo left; or echo none)"]"`)
			if !strings.Contains(out, want) {
				t.Errorf("the shell says %q, want %q", out, want)
			}
			s.requireFolder()
		})
	}
}

func TestOtherStartsStayAsTheyAre(t *testing.T) {
	s := Scripts{dir: "/x"}
	env := []string{"A=1"}
	for _, argv := range [][]string{{"/bin/dash", "-l"}, {"bash", "-c", "true"}, {"bash", "script"}, {"zsh", "--no-rcs"}, {}} {
		if gotArgv, gotEnv := s.Dress("test", argv, env); !slices.Equal(gotArgv, argv) || !slices.Equal(gotEnv, env) {
			t.Errorf("%q became %q with %q", argv, gotArgv, gotEnv)
		}
	}
	if argv, got := (Scripts{}).Dress("test", []string{"bash"}, env); len(argv) != 1 || !slices.Equal(got, env) {
		t.Errorf("the zero value dresses: %q", argv)
	}
}

func TestInstallReplacesAnotherVersion(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shell")
	for range 2 {
		if _, err := Install(dir); err != nil {
			t.Fatal(err)
		}
		script := filepath.Join(dir, "bash.sh")
		text, err := os.ReadFile(script)
		if err != nil || !strings.Contains(string(text), "133;A") {
			t.Fatalf("%q, %v", text, err)
		}
		if st, _ := os.Stat(script); st.Mode().Perm() != fileMode {
			t.Errorf("mode %v", st.Mode())
		}
		if err := os.WriteFile(script, []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), dir); err != nil {
		t.Fatal(err)
	}
	if _, err := Install(dir); err == nil {
		t.Error("a link passes for the folder")
	}
}

// The next spawnd knows the shells that live. A secret that is lost is another one.
func TestNoncesOutliveSpawnd(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shell")
	install := func() Scripts {
		t.Helper()
		s, err := Install(dir)
		if err != nil {
			t.Fatal(err)
		}
		if st, err := os.Stat(filepath.Join(dir, secretFile)); err != nil || st.Mode().Perm() != fileMode || st.Size() != secretBytes {
			t.Errorf("the secret is %v, %v", st, err)
		}
		return s
	}
	s := install()
	if a, b := s.Nonce("a"), s.Nonce("b"); a == b || len(a) != 2*nonceBytes || a != install().Nonce("a") {
		t.Errorf("nonces %q and %q", a, b)
	}
	if err := os.WriteFile(filepath.Join(dir, secretFile), []byte("half"), 0o600); err != nil {
		t.Fatal(err)
	}
	if install().Nonce("a") == s.Nonce("a") {
		t.Error("it was made of half a secret")
	}
	if n := (Scripts{}).Nonce("a"); n != "" {
		t.Errorf("the zero value makes %q", n)
	}
}
