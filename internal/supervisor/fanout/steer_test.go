// SPDX-License-Identifier: Apache-2.0

package fanout

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"spawn/internal/sessiond/wire"
	"spawn/internal/supervisor/control"
)

// The matrix of verbs and roles (T11): what a role may not do changes nothing and reaches no PTY.
func TestEveryVerbIsRefusedToWhomItIsNotGiven(t *testing.T) {
	verbs := map[string]func(v *Viewer, other control.ViewerID) error{
		"input":   func(v *Viewer, _ control.ViewerID) error { return v.Input([]byte("x")) },
		"resize":  func(v *Viewer, _ control.ViewerID) error { return v.Resize(20, 5) },
		"theme":   func(v *Viewer, _ control.ViewerID) error { return v.SetTheme(wire.Theme{}) },
		"request": func(v *Viewer, _ control.ViewerID) error { return v.RequestControl() },
		"grant":   func(v *Viewer, o control.ViewerID) error { return v.Grant(o) },
		"deny":    func(v *Viewer, o control.ViewerID) error { return v.Deny(o) },
		"take":    func(v *Viewer, _ control.ViewerID) error { return v.Take() },
		"release": func(v *Viewer, _ control.ViewerID) error { return v.ReleaseControl() },
	}
	roles := []struct {
		name    string
		options AttachOptions
		detach  bool
		want    map[string]error // verbs that are not here succeed
	}{
		{"controller", AttachOptions{}, false, map[string]error{"grant": control.ErrNoRequest, "deny": control.ErrNoRequest}},
		{"watcher", AttachOptions{}, false, map[string]error{
			"input": control.ErrNotController, "resize": control.ErrNotController, "theme": control.ErrNotController,
			"grant": control.ErrNotController, "deny": control.ErrNotController, "release": control.ErrNotController}},
		{"guest in control", AttachOptions{Guest: true, Cols: 20, Rows: 5}, false, map[string]error{
			"resize": ErrGuest, "theme": ErrGuest, "grant": control.ErrNoRequest, "deny": control.ErrNoRequest}},
		{"reader", AttachOptions{ReadOnly: true}, false, all(verbs, control.ErrReadOnly)},
		{"gone", AttachOptions{}, true, all(verbs, ErrDetached)},
	}
	for _, role := range roles {
		for name, do := range verbs {
			t.Run(role.name+"/"+name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					x := open(t, Options{})
					var other *Viewer
					if role.name != "controller" && !role.options.Guest {
						other, _ = x.attach(AttachOptions{Cols: 80, Rows: 24})
					}
					v, _ := x.attach(role.options)
					if other == nil {
						other, _ = x.attach(AttachOptions{})
					}
					if role.detach {
						v.Detach()
					}
					x.settle()
					before := x.h.mu.control.Controller()
					err := do(v, other.ID())
					x.settle()
					if !errors.Is(err, role.want[name]) {
						t.Fatalf("error %v, want %v", err, role.want[name])
					}
					if err != nil && (len(x.w.typed) != 0 || x.w.cols != 80 || x.w.rows != 24 || x.w.themes != 0 || x.h.mu.control.Controller() != before) {
						t.Errorf("a refused verb had an effect: typed %q, %dx%d, controller %d", x.w.typed, x.w.cols, x.w.rows, x.h.mu.control.Controller())
					}
					x.finish()
				})
			})
		}
	}
}

func all[F any](verbs map[string]F, err error) map[string]error {
	m := map[string]error{}
	for name := range verbs {
		m[name] = err
	}
	return m
}

// Whatever a guest's window is, the terminal keeps the size that it has: when the guest comes first, and when it is
// given control.
func TestAGuestNeverSizesTheTerminal(t *testing.T) {
	for name, steps := range map[string]func(x *house, guest *Viewer){
		"first": func(*house, *Viewer) {},
		"given": func(x *house, guest *Viewer) {
			home, _ := x.attach(AttachOptions{Cols: 80, Rows: 24})
			home.Take()
			guest.RequestControl()
			home.Grant(guest.ID())
		},
		"taken": func(x *house, guest *Viewer) {
			x.attach(AttachOptions{Cols: 80, Rows: 24})
			guest.Take()
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				x := open(t, Options{})
				guest, _ := x.attach(AttachOptions{Guest: true, Cols: 20, Rows: 5})
				steps(x, guest)
				x.settle()
				if x.h.mu.control.Controller() != guest.ID() || x.w.cols != 80 || x.w.rows != 24 || x.w.themes != 0 {
					t.Errorf("controller %d, %dx%d, %d themes", x.h.mu.control.Controller(), x.w.cols, x.w.rows, x.w.themes)
				}
				if err := guest.Input([]byte("x")); err != nil {
					t.Error(err)
				}
				x.finish()
			})
		})
	}
}

// Input that waits when control is lost is dropped, however often the source was full (T12).
func TestInputOfAnEarlierControllerIsDropped(t *testing.T) {
	for seed := range uint64(200) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			x := open(t, Options{})
			v, _ := x.attach(AttachOptions{})
			next, _ := x.attach(AttachOptions{})
			x.settle()
			x.w.allow(0)
			result := make(chan error, 1)
			go func() { result <- v.Input([]byte("rm -rf")) }()
			synctest.Wait() // it has been admitted and waits
			<-time.After(time.Duration(r.IntN(10)) * busyRetry / 2)
			if err := next.Take(); err != nil {
				t.Fatal(err)
			}
			if r.IntN(2) == 0 { // and back: what waited was meant for the earlier turn
				if err := v.Take(); err != nil {
					t.Fatal(err)
				}
			}
			x.w.allow(-1)
			if err := <-result; !errors.Is(err, control.ErrNotController) {
				t.Errorf("seed %d: %v", seed, err)
			}
			x.settle()
			if len(x.w.typed) != 0 {
				t.Errorf("seed %d: typed %q", seed, x.w.typed)
			}
			x.finish()
		})
	}
}

func TestInputWaitsForAFullSourceAndKeepsOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		v, _ := x.attach(AttachOptions{})
		x.settle()
		x.w.allow(2)
		var want []byte
		sent := make(chan error, 1)
		go func() {
			for i := range 50 {
				if err := v.Input(fmt.Appendf(nil, "%d ", i)); err != nil {
					sent <- err
					return
				}
			}
			sent <- nil
		}()
		for i := range 50 {
			want = fmt.Appendf(want, "%d ", i)
			<-time.After(busyRetry)
			x.w.work(-1)
		}
		if err := <-sent; err != nil {
			t.Fatal(err)
		}
		x.settle()
		if !bytes.Equal(x.w.typed, want) {
			t.Errorf("typed %q", x.w.typed)
		}
		if err := v.Input(make([]byte, wire.InputMax+1)); !errors.Is(err, ErrSize) {
			t.Errorf("too much at once: %v", err)
		}
		x.finish()
	})
}

func TestControlBringsItsOwnersSizeAndIsTold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		x := open(t, Options{})
		laptop, ls := x.attach(AttachOptions{Cols: 120, Rows: 40, Name: "laptop"})
		phone, ps := x.attach(AttachOptions{Cols: 40, Rows: 20, Name: "phone"})
		x.settle()
		if x.w.cols != 120 {
			t.Errorf("%d columns", x.w.cols)
		}
		if err := phone.RequestControl(); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if c, _ := has[Control](ls); !c.You || c.Request == nil || c.Request.Name != "phone" {
			t.Errorf("the laptop was told %+v", c)
		}
		<-time.After(control.RequestTimeout)
		x.settle()
		if c, _ := has[Control](ps); !c.You || c.Request != nil {
			t.Errorf("the phone was told %+v", c)
		}
		if c, _ := has[Control](ls); c.You || c.ControllerName != "phone" {
			t.Errorf("the laptop was told %+v", c)
		}
		if x.w.cols != 40 || x.w.rows != 20 {
			t.Errorf("the pane is %dx%d", x.w.cols, x.w.rows)
		}
		if err := laptop.Resize(130, 45); !errors.Is(err, control.ErrNotController) {
			t.Errorf("resize by a watcher: %v", err)
		}
		phone.Detach()
		if err := laptop.Input([]byte("ls\r")); err != nil {
			t.Fatal(err)
		}
		x.settle()
		if x.w.cols != 130 || string(x.w.typed) != "ls\r" {
			t.Errorf("%d columns, typed %q", x.w.cols, x.w.typed)
		}
		x.finish()
	})
}
