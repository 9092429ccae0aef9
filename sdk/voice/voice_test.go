package voice_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/clawhost/clawhost/sdk/sdktest"
	"github.com/clawhost/clawhost/sdk/voice"
)

// page returns a page of an Ogg file, with the given segment lengths.
func page(samples uint64, lengths, body []byte) []byte {
	header := make([]byte, 26)
	copy(header, "OggS")
	binary.LittleEndian.PutUint64(header[6:], samples)
	return slices.Concat(header, []byte{byte(len(lengths))}, lengths, body)
}

// head returns a file's first page, which says that 312 samples are skipped, and its second.
var head = slices.Concat(page(0, []byte{19}, []byte("OpusHead\x01\x01\x38\x01_______")), page(0, []byte{8}, []byte("OpusTags")))

// Behaviour: discord-voice, whatsapp-preview.
func TestLength(t *testing.T) {
	t.Parallel()
	whole := sdktest.Opus(slices.Repeat([]int{60}, 350)...)
	long := slices.Concat(head, page(^uint64(0), []byte{255, 255}, make([]byte, 510)), page(48_000+312, []byte{9}, make([]byte, 9)))
	for name, test := range map[string]struct {
		content []byte
		want    time.Duration
	}{
		"whole":               {whole, 7 * time.Second},
		"cut":                 {whole[:len(whole)-1], 0},
		"without its sound":   {head, 0},
		"a packet of 2 pages": {long, time.Second},
		"no voice":            {[]byte("a voice"), 0},
		"no voice, but long":  {bytes.Repeat([]byte("a voice "), 100), 0},
		"nothing":             {nil, 0},
		"another codec":       {page(1<<20, []byte{19}, []byte("\x01vorbis............")), 0},
		"absurd":              {slices.Concat(head, page(1<<62, []byte{1}, []byte{8})), 0},
		"a short first page":  {page(1<<20, []byte{8}, []byte("OpusHead")), 0},
	} {
		if got := voice.Read(bytes.NewReader(test.content)).Length; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// Behaviour: discord-voice, whatsapp-preview.
func TestWaveform(t *testing.T) {
	t.Parallel()
	quiet, loud := slices.Repeat([]int{10}, 40), slices.Repeat([]int{100}, 40)
	for name, test := range map[string]struct {
		sizes  []int
		points int
		top    byte
		want   []byte
	}{
		"quiet, then loud":      {slices.Concat(quiet, loud), 4, 100, []byte{10, 10, 100, 100}},
		"in between":            {slices.Concat(loud, quiet), 1, 255, []byte{255}},
		"more points":           {[]int{300, 600}, 4, 200, []byte{100, 100, 200, 200}}, // also: packets of several segments
		"uneven parts":          {[]int{40, 60, 80, 100, 100}, 3, 100, []byte{40, 70, 100}},
		"even, but for the end": {slices.Repeat([]int{70}, 1025), 512, 9, bytes.Repeat([]byte{9}, 512)}, // the last sum has one packet
		"no points":             {loud, 0, 255, []byte{}},
		"silence":               {[]int{0, 0}, 2, 255, []byte{0, 0}},
	} {
		s := voice.Read(bytes.NewReader(sdktest.Opus(test.sizes...)))
		if diff := cmp.Diff(test.want, s.Waveform(test.points, test.top)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if diff := cmp.Diff([]byte{0, 0}, voice.Sound{}.Waveform(2, 255)); diff != "" {
		t.Errorf("of what is none: %s", diff)
	}
}

// TestWaveformOfAnyLength checks that the loud part is at its place, however long the sound is: memory is limited.
func TestWaveformOfAnyLength(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		packets := rapid.IntRange(1, 9000).Draw(t, "packets")
		points := rapid.IntRange(1, min(packets, 256)).Draw(t, "points")
		loud := rapid.IntRange(0, packets-1).Draw(t, "the loud one")
		sizes := slices.Repeat([]int{2}, packets)
		sizes[loud] = 1200
		s := voice.Read(bytes.NewReader(sdktest.Opus(sizes...)))
		if want := time.Duration(packets) * 20 * time.Millisecond; s.Length != want {
			t.Fatalf("it lasts %s, want %s", s.Length, want)
		}
		waveform := s.Waveform(points, 255)
		at := slices.Index(waveform, 255)
		// A point is off by one if its edge is within a sum.
		if want := loud * points / packets; at < want-1 || at > want+1 {
			t.Fatalf("the loud packet, %d of %d, is at %d of %d, want %d", loud, packets, at, points, want)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(sdktest.Opus(3, 300, 20))
	f.Add(head)
	f.Fuzz(func(t *testing.T, content []byte) {
		s := voice.Read(bytes.NewReader(content))
		if s.Length < 0 || len(s.Waveform(256, 255)) != 256 {
			t.Errorf("it lasts %s", s.Length)
		}
	})
}
