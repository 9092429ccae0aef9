// Package voice extracts the length and the waveform of a voice message in Ogg Opus, which networks show before the message
// is played. Nothing is decoded. It is shared by channel plugins.
package voice

import (
	"encoding/binary"
	"errors"
	"io"
	"time"
)

// rate is the number of samples per second in Opus time stamps, whatever the recording's sample rate.
const rate = 48_000

// Sound describes a voice message. The zero Sound means that the message is not one.
type Sound struct {
	// Length is the playing time; zero if the data is not Ogg Opus, or incomplete.
	Length time.Duration

	sizes sizes
}

// Read reads a voice message to its end; the caller limits its size. Invalid or truncated data gives the zero Sound.
func Read(ogg io.Reader) Sound {
	var s Sound
	var samples, skipped uint64
	size, headers := 0, 2 // of the current packet; OpusHead and OpusTags precede the sound
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
			if length == 255 { // the packet continues
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
		// The page has the number of samples up to its end, or -1 if no packet ends on it.
		if at := binary.LittleEndian.Uint64(header[6:]); at < 1<<40 {
			samples = max(samples, at)
		}
	}
	s.Length = time.Duration(samples-skipped) * time.Second / rate
	return s
}

// Waveform returns the approximate volume at the given number of points, from zero to loudest. It is derived from the sizes
// of the Opus packets: an encoder spends fewer bytes on quiet parts, unless it uses a constant bit rate.
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

// maxSums limits the memory for a sound of any length. It is even.
const maxSums = 1024

// sizes holds the sizes of packets, in order, as sums of equally many packets.
type sizes struct {
	sums  []float64
	each  int // packets per sum
	count int // packets in all
}

// add adds a packet. When there are too many sums, each pair is merged.
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

// mean returns a packet's mean size in the nth of the given number of parts.
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
