// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func header(n uint32, k Kind) []byte {
	return append(binary.LittleEndian.AppendUint32(nil, n), byte(k))
}

// zeroes is an endless source; a Reader that trusts a length would go on reading it.
type zeroes struct{ read int }

func (z *zeroes) Read(p []byte) (int, error) { clear(p); z.read += len(p); return len(p), nil }

func TestReaderChecksEveryKindAtItsBounds(t *testing.T) {
	for _, s := range Kinds() {
		for _, n := range []uint32{0, 1, s.Min - 1, s.Min, s.Max - 1, s.Max, s.Max + 1, 2 * s.Max,
			MaxFrameLen, MaxFrameLen + 1, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32} {
			source := &zeroes{}
			r := NewReader(io.MultiReader(bytes.NewReader(header(n, s.Kind)), source), s.Dir)
			k, payload, err := r.Next()
			var want error
			switch {
			case s.Exact && n != s.Max, n < s.Min:
				want = ErrSize
			case n > s.Max:
				want = ErrTooLarge
			}
			if !errors.Is(err, want) {
				t.Errorf("%s of %d bytes: got %v, want %v", s.Name, n, err, want)
			}
			if want == nil && (err != nil || k != s.Kind || uint32(len(payload)) != n) {
				t.Errorf("%s of %d bytes: got %v, %d bytes, %v", s.Name, n, k, len(payload), err)
			}
			if want != nil && source.read != 0 {
				t.Errorf("%s of %d bytes: refused after reading %d bytes of payload", s.Name, n, source.read)
			}
		}
	}
}

func TestWriterChecksEveryKindAtItsBounds(t *testing.T) {
	for _, s := range Kinds() {
		for _, n := range []int{-1, int(s.Min) - 1, int(s.Min), int(s.Max), int(s.Max) + 1, math.MaxInt} {
			dst, err := AppendHeader([]byte("kept"), s.Kind, n)
			legal := n >= int(s.Min) && n <= int(s.Max)
			if legal != (err == nil) {
				t.Errorf("%s of %d bytes: %v", s.Name, n, err)
			}
			if err != nil && string(dst) != "kept" {
				t.Errorf("%s of %d bytes: wrote % x before it refused", s.Name, n, dst)
			}
		}
	}
	if _, err := AppendFrame(nil, 0x7f); !errors.Is(err, ErrUnknownKind) {
		t.Errorf("unknown kind: %v", err)
	}
	if frame, err := AppendFrame([]byte("x"), KindInput, []byte("a"), nil, []byte("bc")); err != nil ||
		string(frame) != "x\x03\x00\x00\x00\x02abc" {
		t.Errorf("parts: %q, %v", frame, err)
	}
}

func TestReaderRefusesEveryUnknownOrWronglyDirectedKind(t *testing.T) {
	for value := range 256 {
		k := Kind(value)
		s, known := Lookup(k)
		for _, accept := range []Direction{0, ToWorker, FromWorker} {
			_, _, err := NewReader(io.MultiReader(bytes.NewReader(header(s.Min, k)), &zeroes{}), accept).Next()
			var want error
			switch {
			case !known:
				want = ErrUnknownKind
			case s.Dir != accept:
				want = ErrDirection
			}
			if !errors.Is(err, want) {
				t.Errorf("0x%02x accepting %v: got %v, want %v", value, accept, err, want)
			}
		}
	}
}

// stream returns many frames of all sizes around the buffer's, and their payloads.
func stream(t testing.TB, seed uint64) (all []byte, payloads [][]byte) {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 1))
	sizes := []int{0, 1, 5, readerBufferMin - HeaderLen - 1, readerBufferMin - HeaderLen, readerBufferMin,
		OutputMax - 1, OutputMax}
	for range 60 {
		payload := make([]byte, sizes[rng.IntN(len(sizes))])
		for i := range payload {
			payload[i] = byte(rng.Uint32()) | 1 // never zero: wiping must show
		}
		k := KindOutput
		if rng.IntN(10) == 0 {
			k = KindReplay
			payload = bytes.Repeat([]byte{7}, ReadAheadMax-HeaderLen-1+rng.IntN(4))
		}
		var err error
		if all, err = AppendFrame(all, k, payload); err != nil {
			t.Fatal(err)
		}
		payloads = append(payloads, payload)
	}
	return all, payloads
}

// steps reads as many bytes at a time as its sizes say, in turn.
type steps struct {
	src   io.Reader
	sizes []int
	turn  int
}

func (s *steps) Read(p []byte) (int, error) {
	n := s.sizes[s.turn%len(s.sizes)]
	s.turn++
	return s.src.Read(p[:min(n, len(p))])
}

func TestReaderYieldsTheSameFramesHoweverTheStreamIsCut(t *testing.T) {
	for seed := range uint64(4) {
		all, want := stream(t, seed)
		for name, src := range map[string]io.Reader{
			"whole":      bytes.NewReader(all),
			"odd steps":  &steps{src: bytes.NewReader(all), sizes: []int{1, 4, 5, 6, 4095, 4096, 4097, 70000}},
			"with error": iotest.DataErrReader(bytes.NewReader(all)),
			"halves":     iotest.HalfReader(bytes.NewReader(all)),
		} {
			r := NewReader(src, FromWorker)
			for i, payload := range want {
				_, got, err := r.Next()
				if err != nil || !bytes.Equal(got, payload) {
					t.Fatalf("seed %d, %s: frame %d of %d bytes: got %d bytes, %v",
						seed, name, i, len(payload), len(got), err)
				}
			}
			for range 2 {
				if _, _, err := r.Next(); err != io.EOF {
					t.Fatalf("seed %d, %s: end: %v", seed, name, err)
				}
			}
		}
	}
}

func TestReaderTakesAStreamCutAtEveryByte(t *testing.T) {
	var all []byte
	var ends []int
	for _, x := range exchanges() {
		if s, _ := Lookup(x.kind); s.Dir == FromWorker {
			frame, err := x.encode()
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, frame...)
			ends = append(ends, len(all))
		}
	}
	for cut := range len(all) + 1 {
		r := NewReader(io.MultiReader(bytes.NewReader(all[:cut]), bytes.NewReader(all[cut:])), FromWorker)
		for i := range ends {
			if _, _, err := r.Next(); err != nil {
				t.Fatalf("cut at %d, frame %d: %v", cut, i, err)
			}
		}
		short := NewReader(iotest.OneByteReader(bytes.NewReader(all[:cut])), FromWorker)
		whole := 0
		for _, end := range ends {
			if end <= cut {
				whole++
			}
		}
		for i := range whole {
			if _, _, err := short.Next(); err != nil {
				t.Fatalf("ended at %d, frame %d: %v", cut, i, err)
			}
		}
		want := io.ErrUnexpectedEOF
		if cut == 0 || whole > 0 && ends[whole-1] == cut {
			want = io.EOF
		}
		if _, _, err := short.Next(); !errors.Is(err, want) {
			t.Fatalf("ended at %d: got %v, want %v", cut, err, want)
		}
	}
}

func TestReaderRefusesGarbageBetweenFrames(t *testing.T) {
	frame, err := AppendOutput(nil, []byte("good"))
	if err != nil {
		t.Fatal(err)
	}
	r := NewReader(bytes.NewReader(append(frame, "garbage garbage"...)), FromWorker)
	if _, payload, err := r.Next(); err != nil || string(payload) != "good" {
		t.Fatalf("got %q, %v", payload, err)
	}
	_, _, first := r.Next()
	_, _, second := r.Next()
	if !errors.Is(first, ErrUnknownKind) || second != first {
		t.Errorf("got %v, then %v", first, second)
	}
}

// stuck returns neither bytes nor an error.
type stuck struct{}

func (stuck) Read([]byte) (int, error) { return 0, nil }

func TestReaderGivesUpOnASourceWithoutProgress(t *testing.T) {
	if _, _, err := NewReader(stuck{}, ToWorker).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

func TestReaderWipesWhatItHandedOut(t *testing.T) {
	all, want := stream(t, 9)
	r := NewReader(bytes.NewReader(all), FromWorker)
	for i := range want {
		_, payload, err := r.Next()
		if err != nil {
			t.Fatal(err)
		}
		r.reclaim()
		if !allZero(payload) {
			t.Fatalf("frame %d of %d bytes survived its time", i, len(payload))
		}
	}
	_, _, err := r.Next()
	if err != io.EOF {
		t.Fatal(err)
	}
}

func TestReaderWipesItsBuffer(t *testing.T) {
	all, _ := stream(t, 10)
	for name, end := range map[string]func(*Reader){
		"wipe":  func(r *Reader) { r.Wipe() },
		"error": func(r *Reader) { r.accept = ToWorker; r.Next() },
	} {
		r := NewReader(bytes.NewReader(all), FromWorker)
		var buffers [][]byte
		for range 20 {
			if _, _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
			buffers = append(buffers, r.buf)
		}
		end(r)
		for i, b := range buffers {
			if !allZero(b) {
				t.Errorf("%s: buffer of %d bytes after frame %d keeps content", name, len(b), i)
			}
		}
		if _, _, err := r.Next(); err == nil {
			t.Errorf("%s: reads on", name)
		}
	}
}

func allZero(p []byte) bool { return len(bytes.Trim(p, "\x00")) == 0 }

// loop repeats one stretch of bytes for ever and counts its reads.
type loop struct {
	all   []byte
	at    int
	reads int
}

func (l *loop) Read(p []byte) (int, error) {
	l.reads++
	n := 0
	for n < len(p) {
		c := copy(p[n:], l.all[l.at:])
		n += c
		l.at = (l.at + c) % len(l.all)
	}
	return n, nil
}

func TestReaderAllocatesNothingForSmallFramesAndReadsManyAtOnce(t *testing.T) {
	frame, err := AppendOutput(nil, make([]byte, 3000))
	if err != nil {
		t.Fatal(err)
	}
	source := &loop{all: frame}
	r := NewReader(source, FromWorker)
	next := func() {
		if _, _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	for range 200 {
		next() // until the buffer has its full size
	}
	source.reads = 0
	const frames = 2000
	if n := testing.AllocsPerRun(frames, next); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
	if source.reads > frames/15 {
		t.Errorf("%d reads for %d frames", source.reads, frames)
	}
}

func TestReaderAllocatesNoMoreThanTheCap(t *testing.T) {
	for _, s := range Kinds() {
		var before, after runtime.MemStats
		source := io.MultiReader(bytes.NewReader(header(s.Max, s.Kind)), bytes.NewReader(nil))
		runtime.ReadMemStats(&before)
		NewReader(source, s.Dir).Next()
		runtime.ReadMemStats(&after)
		if got := after.TotalAlloc - before.TotalAlloc; got > uint64(s.Max)+64<<10 {
			t.Errorf("%s: %d bytes allocated for a cap of %d", s.Name, got, s.Max)
		}
	}
}

func FuzzReader(f *testing.F) {
	for _, x := range exchanges() {
		frame, err := x.encode()
		if err != nil {
			f.Fatal(err)
		}
		s, _ := Lookup(x.kind)
		f.Add(frame, s.Dir == ToWorker, uint8(3))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0x82, 0}, false, uint8(1))
	decoders := decodersByKind()
	f.Fuzz(func(t *testing.T, src []byte, toWorker bool, step uint8) {
		dir := FromWorker
		if toWorker {
			dir = ToWorker
		}
		source := &steps{src: bytes.NewReader(src), sizes: []int{int(step) + 1}}
		r := NewReader(source, dir)
		var accepted []byte
		for {
			k, payload, err := r.Next()
			if err != nil {
				break
			}
			if accepted, err = AppendFrame(accepted, k, payload); err != nil {
				t.Fatalf("accepted a frame that cannot be written: %v", err)
			}
			again, err := decoders[k](bytes.Clone(payload))
			if err != nil {
				continue
			}
			if frame, _ := AppendFrame(nil, k, payload); !bytes.Equal(again, frame) {
				t.Fatalf("%v: accepted %x, encodes as %x", k, frame, again)
			}
		}
		if !bytes.HasPrefix(src, accepted) {
			t.Fatalf("frames are not the input's: %x of %x", accepted, src)
		}
	})
}

// recode makes a function that decodes a payload and encodes the result as a frame.
func recode[T any](decode func([]byte) (T, error), encode func([]byte, T) ([]byte, error)) func([]byte) ([]byte, error) {
	return func(payload []byte) ([]byte, error) {
		v, err := decode(payload)
		if err != nil {
			return nil, err
		}
		return encode(nil, v)
	}
}

func decodersByKind() map[Kind]func([]byte) ([]byte, error) {
	return map[Kind]func([]byte) ([]byte, error){
		KindStart: recode(DecodeStart, AppendStart),
		KindInput: recode(raw, AppendInput),
		KindResize: func(p []byte) ([]byte, error) {
			cols, rows, err := DecodeResize(p)
			if err != nil {
				return nil, err
			}
			return AppendResize(nil, cols, rows)
		},
		KindReplayReq:  recode(DecodeReplayReq, AppendReplayReq),
		KindRedraw:     func([]byte) ([]byte, error) { return AppendRedraw(nil) },
		KindHistorySub: recode(DecodeHistorySub, AppendHistorySub),
		KindCaptureReq: recode(DecodeCaptureReq, AppendCaptureReq),
		KindTheme:      recode(DecodeTheme, AppendTheme),
		KindHello:      recode(DecodeHello, AppendHello),
		KindOutput:     recode(raw, AppendOutput),
		KindReplay: func(p []byte) ([]byte, error) {
			watermark, stream, err := DecodeReplay(p)
			if err != nil {
				return nil, err
			}
			return AppendReplay(nil, watermark, stream)
		},
		KindExit:        recode(DecodeExit, AppendExit),
		KindForeground:  recode(DecodeForeground, AppendForeground),
		KindHistory:     recode(DecodeHistory, AppendHistory),
		KindHistoryWipe: recode(DecodeHistoryWipe, AppendHistoryWipe),
		KindCapture:     recode(DecodeCapture, AppendCapture),
		KindNotice:      recode(DecodeNotice, AppendNotice),
	}
}

func BenchmarkReader(b *testing.B) {
	for _, size := range []int{100, 4000, OutputMax} {
		b.Run(sizeName(size), func(b *testing.B) {
			frame, err := AppendOutput(nil, make([]byte, size))
			if err != nil {
				b.Fatal(err)
			}
			r := NewReader(&loop{all: frame}, FromWorker)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := r.Next(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func sizeName(n int) string {
	if n >= 1<<10 && n%(1<<10) == 0 {
		return "64KiB"
	}
	return map[int]string{100: "100B", 4000: "4000B"}[n]
}

// roomy is a connection that remembers what it was to read into.
type roomy struct {
	net.Conn
	mu struct {
		sync.Mutex
		rooms [][]byte
	}
}

func (c *roomy) Read(p []byte) (int, error) {
	c.mu.Lock()
	c.mu.rooms = append(c.mu.rooms, p)
	c.mu.Unlock()
	return c.Conn.Read(p)
}

// room is how much would be read now.
func (c *roomy) room() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.mu.rooms[len(c.mu.rooms)-1])
}

// What a flood has made of the buffer is given back when nothing has come for a while, wiped, and nothing that comes then is lost.
func TestReaderShrinksWhenItIsQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		source := &roomy{Conn: near}
		r := NewReader(source, FromWorker)
		taken := make(chan int)
		go func() {
			defer close(taken)
			for {
				_, payload, err := r.Next()
				if err != nil {
					return
				}
				taken <- len(payload)
			}
		}()
		send := func(size int) {
			t.Helper()
			go far.Write(append(header(uint32(size), KindOutput), bytes.Repeat([]byte{1}, size)...))
			if got := <-taken; got != size {
				t.Fatalf("took %d bytes, want %d", got, size)
			}
			synctest.Wait()
		}
		for range 3 {
			for range 20 {
				send(OutputMax)
			}
			large := source.room()
			if large <= readerBufferMin {
				t.Fatalf("a flood is read through %d bytes", large)
			}
			<-time.After(quietMax / 2)
			send(1)
			<-time.After(quietMax / 2)
			synctest.Wait()
			if source.room() != large {
				t.Error("it was not quiet for long enough")
			}
			<-time.After(quietMax)
			synctest.Wait()
			if source.room() != readerBufferMin {
				t.Errorf("after a quiet time the buffer has %d bytes", source.room())
			}
			<-time.After(100 * quietMax)
			send(1) // no deadline of ours is left
		}
		far.Close()
		if _, more := <-taken; more {
			t.Error("something came after the end")
		}
		for _, room := range source.mu.rooms {
			if !bytes.Equal(room, make([]byte, len(room))) {
				t.Fatal("a buffer was let go with content")
			}
		}
	})
}
