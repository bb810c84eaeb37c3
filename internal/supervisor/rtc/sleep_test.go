// SPDX-License-Identifier: Apache-2.0

package rtc

import (
	"io"
	"log/slog"
	"net"
	"net/netip"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pion/datachannel"
	"github.com/pion/ice/v4"
	"github.com/pion/transport/v5/vnet"
	"github.com/pion/webrtc/v4"
)

// sky is a network without a real wire or clock, which a test may cut.
type sky struct {
	router     *vnet.Router
	host, page *vnet.Net
	cut        atomic.Bool
}

func newSky(t *testing.T) *sky {
	t.Helper()
	s := &sky{}
	var err error
	must := func(e error) {
		t.Helper()
		if e != nil {
			t.Fatal(e)
		}
	}
	s.router, err = vnet.NewRouter(&vnet.RouterConfig{CIDR: "10.0.0.0/24", MinDelay: 20 * time.Millisecond, LoggerFactory: stackLogs{slog.New(slog.DiscardHandler)}})
	must(err)
	s.host, err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{"10.0.0.2"}})
	must(err)
	s.page, err = vnet.NewNet(&vnet.NetConfig{StaticIPs: []string{"10.0.0.3"}})
	must(err)
	must(s.router.AddNet(s.host))
	must(s.router.AddNet(s.page))
	s.router.AddChunkFilter(func(vnet.Chunk) bool { return !s.cut.Load() })
	must(s.router.Start())
	return s
}

// connect brings a page and a peer together under the sky.
func (s *sky) connect(t *testing.T) (*Endpoint, *Peer, *page) {
	t.Helper()
	conn, err := s.host.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 7000})
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	mux := ice.NewUDPMuxDefault(ice.UDPMuxParams{UDPConn: conn, Net: s.host, Logger: stackLogs{log}.NewLogger("mux")})
	se := settings(mux, stackLogs{log})
	se.SetNet(s.host)
	e := newEndpoint(mux, netip.MustParseAddrPort("10.0.0.2:7000"), se, log)

	var own webrtc.SettingEngine
	own.SetNet(s.page)
	own.SetICEMulticastDNSMode(ice.MulticastDNSModeDisabled)
	own.SetICETimeouts(5*time.Second, time.Hour, 2*time.Second) // a browser goes on trying
	p := newPage(t, own, webrtc.Configuration{})
	return e, p.connect(e), p
}

func TestAPeerOutlivesAShortSilenceAndNotALongOne(t *testing.T) {
	for name, c := range map[string]struct {
		silence time.Duration
		orphan  bool
		lives   bool
	}{
		"20 s":                                  {20 * time.Second, false, true},
		"55 s":                                  {55 * time.Second, false, true},
		"2 minutes":                             {2 * time.Minute, false, false},
		"1 s, no signalling, a page that asks":  {time.Second, true, true},
		"no signalling and a path that is lost": {15 * time.Second, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSky(t)
				e, peer, p := s.connect(t)
				ctl := accept(t, peer)
				far := p.ctl.wait(t)
				if c.orphan {
					peer.Orphan()
				}
				s.cut.Store(true)
				pause(c.silence)
				s.cut.Store(false)
				if c.lives {
					if c.orphan {
						askAndHear(t, ctl, far)
						pause(2 * orphanQuiet)
					}
					exchangeOne(t, ctl, far)
				} else {
					awaitEnd(t, peer)
				}
				p.pc.GracefulClose()
				e.Close()
				s.router.Stop()
				pause(time.Minute) // timers of the stack that nobody stops
			})
		})
	}
}

// A browser that was killed leaves its path open for a while: nobody says that it has gone.
func TestAPeerWithoutSignallingThatSaysNothingEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(t)
		e, peer, p := s.connect(t)
		accept(t, peer)
		p.ctl.wait(t)
		start := time.Now()
		peer.Orphan()
		awaitEnd(t, peer)
		if took := time.Since(start); took > orphanQuiet+time.Second {
			t.Errorf("it ended after %v, want %v", took, orphanQuiet)
		}
		p.pc.GracefulClose()
		e.Close()
		s.router.Stop()
		pause(time.Minute)
	})
}

// askAndHear is what a page does that has lost its signalling: it asks whether we are there.
func askAndHear(t *testing.T, near *Channel, far datachannel.ReadWriteCloser) {
	t.Helper()
	if _, err := far.WriteDataChannel([]byte("{}"), true); err != nil {
		t.Fatal(err)
	}
	if got, err := near.Read(); err != nil || string(got) != "{}" {
		t.Fatalf("the page's question: %q, %v", got, err)
	}
}

// pause lets the bubble's clock run.
func pause(d time.Duration) { <-time.After(d) }

func exchangeOne(t *testing.T, near *Channel, far io.Reader) {
	t.Helper()
	if err := near.Write(testContext(t), []byte("{}")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if n, err := far.Read(got); err != nil || string(got[:n]) != "{}" {
		t.Fatalf("after the silence: %q, %v", got[:n], err)
	}
}

func TestAPeerThatNeverComesEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(t)
		s.cut.Store(true)
		start := time.Now()
		e, peer, p := s.connect(t)
		awaitEnd(t, peer)
		if took := time.Since(start); took < connectTimeout || took > connectTimeout+5*time.Second {
			t.Errorf("it ended after %v, want %v", took, connectTimeout)
		}
		p.pc.GracefulClose()
		e.Close()
		s.router.Stop()
		pause(time.Minute)
	})
}

func TestLittleWaitsInTheStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSky(t)
		e, peer, p := s.connect(t)
		ctl, far := accept(t, peer), p.ctl.wait(t)
		read := make(chan int)
		go func() {
			total, buf := 0, make([]byte, MessageMax)
			for total < 200*MessageMax {
				n, err := far.Read(buf)
				if err != nil {
					break
				}
				total += n
			}
			read <- total
		}()
		for range 200 {
			if err := ctl.Write(testContext(t), make([]byte, MessageMax)); err != nil {
				t.Fatal(err)
			}
			if waits := ctl.raw.BufferedAmount(); waits > bufferedMax {
				t.Fatalf("%d bytes wait in the stack, at most %d", waits, bufferedMax)
			}
		}
		if total := <-read; total != 200*MessageMax {
			t.Errorf("%d bytes arrived", total)
		}
		p.pc.GracefulClose()
		e.Close()
		s.router.Stop()
		pause(time.Minute)
	})
}
