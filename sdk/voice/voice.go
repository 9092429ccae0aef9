// Package voice finds out of a voice message in Ogg Opus, as most networks have them, what they show of it before it is
// played: its length and its waveform. Nothing is decoded. It is shared by channel plugins.
package voice

import (
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// rate is how many samples a second Opus counts in, whatever it was recorded with.
const rate = 48_000

// Sound is what a voice message tells of itself. The zero Sound is no voice message.
type Sound struct {
	// Length is how long it plays; zero: it is no Ogg Opus, or not all of one.
	Length time.Duration

	sizes sizes
}

// Read reads a voice message to its end, whose size the caller bounds. What is none, or breaks off, gives the zero Sound.
func Read(ogg io.Reader) Sound {
	var s Sound
	var samples, skipped uint64
	size, headers := 0, 2 // of the packet that is read; OpusHead and OpusTags come before the sound
	for first := true; ; first = false {
		var header [27]byte
		if _, err := io.ReadFull(ogg, header[:]); err != nil {
			if first || !errors.Is(err, io.EOF) || samples <= skipped {
				return Sound{}
			}
			break
		}
		lengths := make([]byte, header[26])
		if _, err := io.ReadFull(ogg, lengths); err != nil || string(header[:4]) != "OggS" {
			return Sound{}
		}
		body := 0 // at most 255 * 255 bytes
		for _, length := range lengths {
			body += int(length)
			size += int(length)
			if length == 255 { // The packet goes on.
				continue
			}
			if headers > 0 {
				headers--
			} else {
				s.sizes.add(size)
			}
			size = 0
		}
		if first {
			var head [12]byte
			if _, err := io.ReadFull(ogg, head[:]); err != nil || body < len(head) || string(head[:8]) != "OpusHead" {
				return Sound{}
			}
			skipped = uint64(binary.LittleEndian.Uint16(head[10:]))
			body -= len(head)
		}
		if _, err := io.CopyN(io.Discard, ogg, int64(body)); err != nil {
			return Sound{}
		}
		// The page says how many samples there were until its end. One on which nothing ends has -1.
		if at := binary.LittleEndian.Uint64(header[6:]); at < 1<<40 {
			samples = max(samples, at)
		}
	}
	s.Length = time.Duration(samples-skipped) * time.Second / rate
	return s
}

// Waveform is how loud the sound is over its length, roughly, at so many points, from zero to loudest. It goes by the sizes
// of the Opus packets: an encoder spends less on what is quiet, unless it was told to spend the same on everything.
func (s Sound) Waveform(points int, loudest byte) []byte {
	means := make([]float64, max(points, 0))
	most := 0.0
	for i := range means {
		means[i] = s.sizes.mean(i, len(means))
		most = max(most, means[i])
	}
	waveform := make([]byte, len(means))
	if most > 0 {
		for i, mean := range means {
			waveform[i] = byte(mean/most*float64(loudest) + 0.5)
		}
	}
	return waveform
}

// maxSums bounds what is kept of a sound, however long it is. It is even.
const maxSums = 1024

// sizes are those of packets, in order: sums of as many each.
type sizes struct {
	sums  []float64
	each  int // packets in a sum
	count int // packets in all
}

// add adds a packet. Where there are too many sums, two become one.
func (z *sizes) add(size int) {
	switch {
	case z.each == 0:
		z.each = 1
	case z.count == maxSums*z.each:
		for i := range maxSums / 2 {
			z.sums[i] = z.sums[2*i] + z.sums[2*i+1]
		}
		z.sums, z.each = z.sums[:maxSums/2], 2*z.each
	}
	if z.count%z.each == 0 {
		z.sums = append(z.sums, 0)
	}
	z.sums[len(z.sums)-1] += float64(size)
	z.count++
}

// mean is a packet's mean size in the nth of so many parts.
func (z *sizes) mean(nth, parts int) float64 {
	from := nth * len(z.sums) / parts
	to := min(max(from+1, (nth+1)*len(z.sums)/parts), len(z.sums))
	sum := 0.0
	for _, s := range z.sums[from:to] {
		sum += s
	}
	packets := min(to*z.each, z.count) - from*z.each
	if packets <= 0 {
		return 0
	}
	return sum / float64(packets)
}
