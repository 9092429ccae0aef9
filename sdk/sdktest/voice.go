package sdktest

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// Opus returns a voice message in Ogg Opus whose packets have the given sizes, in bytes, at most 1275 each. Each packet
// lasts 20 milliseconds. It is silent, and its pages have no checksums.
func Opus(sizes ...int) []byte {
	const samples, skipped, inPage = 960, 312, 25
	head := append([]byte("OpusHead\x01\x01"), skipped&0xff, skipped>>8, 0x80, 0xbb, 0, 0, 0, 0, 0)
	tags := append([]byte("OpusTags\x07\x00\x00\x00sdktest"), 0, 0, 0, 0)
	ogg := slices.Concat(oggPage(2, 0, 0, head), oggPage(0, 0, 1, tags))
	at := skipped
	for page := range slices.Chunk(sizes, inPage) {
		var packets [][]byte
		for _, size := range page {
			packet := make([]byte, size)
			if size > 0 {
				packet[0] = 1 << 3 // one frame of 20 ms
			}
			packets = append(packets, packet)
		}
		at += samples * len(page)
		ogg = append(ogg, oggPage(0, at, 2, packets...)...)
	}
	return ogg
}

// oggPage returns a page of an Ogg file with whole packets.
func oggPage(flags byte, samples, number int, packets ...[]byte) []byte {
	header := make([]byte, 26)
	copy(header, "OggS")
	header[5] = flags
	binary.LittleEndian.PutUint64(header[6:], uint64(samples))
	binary.LittleEndian.PutUint32(header[18:], uint32(number))
	var lengths []byte
	for _, packet := range packets {
		lengths = append(lengths, bytes.Repeat([]byte{255}, len(packet)/255)...)
		lengths = append(lengths, byte(len(packet)%255))
	}
	return slices.Concat(header, []byte{byte(len(lengths))}, lengths, slices.Concat(packets...))
}
