package speech_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/speech"
	"github.com/clawhost/clawhost/sdk/chat"
)

// ffmpeg runs the real ffmpeg. If it is missing, the test is skipped, except in CI.
func ffmpeg(t *testing.T, args ...string) error {
	t.Helper()
	path, err := exec.LookPath("ffmpeg")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("ffmpeg is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), path, append([]string{"-nostdin", "-v", "error", "-y"}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ffmpeg %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// made is a file that ffmpeg makes.
func made(t *testing.T, path string, args ...string) []byte {
	t.Helper()
	if err := ffmpeg(t, append(args, path)...); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// listeners stand in for the programs that transcribe. They keep the sound that they get. Those written in Python have ffmpeg
// convert the file first, as the real ones do.
var listeners = map[string]struct{ model, script string }{
	"whisper-cli":         {".cache/whisper.cpp/ggml-base.bin", "#!/bin/sh\nfor file; do :; done\n cp \"$file\" KEPT && echo heard\n"},
	"whisper":             {".cache/whisper/base.pt", "#!/bin/sh\nffmpeg -nostdin -v error -threads 0 -i \"$1\" -f wav -ac 1 -c:a pcm_s16le -ar 16000 -y KEPT && name=${1##*/} && echo heard > \"${name%.*}.txt\"\n"},
	"whisper-ctranslate2": {".cache/huggingface/hub/models--Systran--faster-whisper-small/snapshots/abc/model.bin", "#!/bin/sh\nffmpeg -nostdin -v error -threads 0 -i \"$1\" -f wav -ac 1 -c:a pcm_s16le -ar 16000 -y KEPT && name=${1##*/} && echo heard > \"${name%.*}.txt\"\n"},
}

// listening is a reader with the real ffmpeg and a stand-in that keeps what it hears in a file.
func listening(t *testing.T, program string) (r *reading, kept string) {
	t.Helper()
	if err := ffmpeg(t, "-version"); err != nil {
		t.Fatal(err)
	}
	r = setupReading(t)
	home, bin := t.TempDir(), t.TempDir()
	kept = filepath.Join(home, "kept.wav")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	mediatest.Install(t, bin, 0o700, map[string]string{program: strings.ReplaceAll(listeners[program].script, "KEPT", kept)})
	mediatest.Install(t, home, 0o600, map[string]string{listeners[program].model: "m"})
	if r.method = speech.FindMethod(home, filepath.Join(home, modelOf(program))); r.method.Missing() {
		t.Fatal(r.method)
	}
	return r, kept
}

func modelOf(program string) string {
	model := listeners[program].model
	if program == "whisper-ctranslate2" {
		return filepath.Dir(model) // a folder
	}
	return model
}

// spokenIn transcribes a file as a voice message, and reports whether the program got the tone.
func spokenIn(t *testing.T, r *reading, kept string, content []byte) (tone, transcribed bool) {
	t.Helper()
	_ = os.Remove(kept)
	m := r.Stored(t, chat.Media{Kind: chat.Voice}, content)
	m.Kind = chat.Voice // whatever it is
	said := r.heard(t, m)
	sound, err := os.ReadFile(kept)
	if err != nil {
		return false, false
	}
	return hasTone(sound), said.Text == "heard"
}

// sine is the tone by which a file is recognised.
const sine = "sine=440:d=1:r=16000"

// hasTone reports whether the most of a WAV file of 16 kHz is the tone.
func hasTone(wav []byte) bool {
	_, data, _ := bytes.Cut(wav, []byte("data"))
	var sum complex128
	var energy float64
	for i := 4; i+1 < len(data); i += 2 {
		level := float64(int16(binary.LittleEndian.Uint16(data[i:])))
		sum += complex(level, 0) * cmplx.Rect(1, 2*math.Pi*440/16000*float64(i/2))
		energy += level * level
	}
	samples := float64(len(data)-4) / 2
	const silence = 100 // of the energy of a sample
	return energy > silence*samples && 2*real(sum*cmplx.Conj(sum))/samples > energy/2
}

// tag is an empty ID3 tag, with which a file counts as MP3.
const tag = "ID3\x03\x00\x00\x00\x00\x00\x00"

// Sound is converted from each container that the host accepts as sound, wherever its index is and whatever else it contains.
// Behaviour: transcribe-found, transcribe-confined.
func TestFFmpegConvertsVoices(t *testing.T) {
	r, kept := listening(t, "whisper-cli")
	dir := t.TempDir()
	cover := filepath.Join(dir, "cover.jpg")
	made(t, cover, "-f", "lavfi", "-i", "color=red:s=64x64", "-frames:v", "1")
	for name, args := range map[string][]string{
		"opus.ogg":     {"-c:a", "libopus"},
		"vorbis.ogg":   {"-c:a", "libvorbis"},
		"speex.ogg":    {"-c:a", "libspeex", "-ar", "16000"},
		"flac.ogg":     {"-c:a", "flac"},
		"opus.webm":    {"-c:a", "libopus"},
		"vorbis.webm":  {"-c:a", "libvorbis"},
		"lame.mp3":     {},
		"untagged.mp3": {"-id3v2_version", "0", "-write_xing", "0"},
		"cover.mp3":    {"-i", cover, "-map", "0", "-map", "1", "-c:v", "copy"},
		"adts.aac":     {},
		"aac.m4a":      {}, // its index is at its end
		"start.m4a":    {"-movflags", "+faststart"},
		"parts.m4a":    {"-movflags", "frag_keyframe+empty_moov"},
		"alac.m4a":     {"-c:a", "alac"},
		"cover.m4a":    {"-i", cover, "-map", "0", "-map", "1", "-c:v", "mjpeg", "-disposition:v:0", "attached_pic"},
		"aac.mp4":      {},
		"video.mp4":    {"-f", "lavfi", "-i", "color=red:s=64x64:d=1", "-c:v", "mpeg4"},
		"flac.flac":    {},
		"s16.wav":      {},
		"f32.wav":      {"-c:a", "pcm_f32le"},
		"mulaw.wav":    {"-c:a", "pcm_mulaw"},
		"adpcm.wav":    {"-c:a", "adpcm_ima_wav"},
		"gsm.wav":      {"-c:a", "libgsm_ms", "-ar", "8000"},
		"be.aiff":      {},
	} {
		content := made(t, filepath.Join(dir, name), append([]string{"-f", "lavfi", "-i", sine}, args...)...)
		if tone, transcribed := spokenIn(t, r, kept, content); !tone || !transcribed {
			t.Errorf("%s: the tone was heard: %v, transcribed: %v", name, tone, transcribed)
		}
	}
	amr := "#!AMR\n" + strings.Repeat("\x04\xf4\x6d\x2b\x90\x5a\xc3\x17\x88\x21\xee\x40\x90", 100)
	if _, transcribed := spokenIn(t, r, kept, []byte(amr)); !transcribed {
		t.Error("AMR was not transcribed")
	}
	mediatest.Empty(t, r.dir)
}

// No voice message makes ffmpeg, or the program that transcribes, read another file.
// Behaviour: transcribe-confined.
func TestFFmpegReadsOnlyTheVoice(t *testing.T) {
	dir := t.TempDir()
	canary := filepath.Join(dir, "canary")
	made(t, canary+".wav", "-f", "lavfi", "-i", sine, "-ac", "1")
	for _, ending := range []string{"m4a", "mp3", "ts", "ogg"} {
		made(t, canary+"."+ending, "-i", canary+".wav")
	}
	made(t, canary+".mp4", "-i", canary+".wav", "-movflags", "frag_keyframe+empty_moov+default_base_moof")
	silence := made(t, filepath.Join(dir, "silence.m4a"), "-f", "lavfi", "-i", "anullsrc=d=1")

	manifests := map[string]string{}
	for _, ending := range []string{"ts", "m4a", "mp3"} {
		manifests["HLS of "+ending] = "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\n" + canary + "." + ending + "\n#EXT-X-ENDLIST\n"
		manifests["HLS by address of "+ending] = "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXTINF:3,\nfile://" + canary + "." + ending + "\n#EXT-X-ENDLIST\n"
		manifests["HLS by crypto of "+ending] = "#EXTM3U\n#EXT-X-TARGETDURATION:3\n#EXT-X-KEY:METHOD=AES-128,URI=\"" + canary + ".wav\"\n#EXTINF:3,\n" + canary + "." + ending + "\n#EXT-X-ENDLIST\n"
	}
	manifests["HLS with a master"] = "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n" + canary + ".m3u8\n"
	if err := os.WriteFile(canary+".m3u8", []byte(manifests["HLS of ts"]), 0o600); err != nil {
		t.Fatal(err)
	}
	manifests["DASH"] = `<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-on-demand:2011" type="static" mediaPresentationDuration="PT3S" minBufferTime="PT1S"><Period duration="PT3S"><AdaptationSet contentType="audio" mimeType="audio/mp4"><Representation id="0" bandwidth="64000" codecs="mp4a.40.2"><BaseURL>` + canary + `.mp4</BaseURL></Representation></AdaptationSet></Period></MPD>`
	manifests["DASH of a list"] = strings.Replace(manifests["DASH"], "<BaseURL>"+canary+".mp4</BaseURL>", `<SegmentList duration="3"><SegmentURL media="`+canary+`.mp4"/></SegmentList>`, 1)
	manifests["Smooth"] = `<SmoothStreamingMedia MajorVersion="2"><StreamIndex Type="audio" Url="` + canary + `.mp4"/></SmoothStreamingMedia>`
	manifests["concat"] = "ffconcat version 1.0\nfile '" + canary + ".wav'\n"
	manifests["concat by address"] = "ffconcat version 1.0\nfile file:" + canary + ".wav\n"
	manifests["concat with options"] = "ffconcat version 1.0\nfile 'voice.mp3'\noption safe 0\nfile '" + canary + ".wav'\n"
	manifests["subtitles ASS"] = "[Script Info]\nScriptType: v4.00+\nAudio File: " + canary + ".wav\n[Events]\nDialogue: 0,0:00:00.00,0:00:01.00,Default,,0,0,0,," + canary + ".wav\n"
	manifests["subtitles SRT"] = "1\n00:00:00,000 --> 00:00:01,000\n" + canary + ".wav\n"
	manifests["subtitles VobSub"] = "# VobSub index file, v7\nid: en, index: 0\ntimestamp: 00:00:00:000, filepos: 000000000\n"
	manifests["SDP"] = "v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=audio 5004 RTP/AVP 0\n"
	manifests["RTSP"] = "RTSPtextRTSP://127.0.0.1/" + canary + "\n"
	manifests["a playlist of addresses"] = "[playlist]\nFile1=file://" + canary + ".wav\n"
	manifests["ASX"] = "<asx version=3><entry><ref href='file://" + canary + ".wav'/></entry></asx>"
	manifests["IMF"] = `<?xml version="1.0"?><CompositionPlaylist xmlns="http://www.smpte-ra.org/schemas/2067-3/2016"><Id>urn:uuid:1</Id></CompositionPlaylist>`
	manifests["pictures by pattern"] = canary + "%d.wav"
	manifests["protocols"] = "concat:" + canary + ".wav|" + canary + ".mp3\ntee:" + canary + ".wav\nsubfile,,start,0,end,0,,:" + canary + ".wav\n"
	manifests["WebM manifest"] = "\x1a\x45\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1f\x42\x82\x84webm A_OPUS" + canary + ".wav"
	manifests["MXF"] = "\x06\x0e\x2b\x34\x02\x05\x01\x01\x0d\x01\x02\x01\x01\x02\x04\x00" + canary + ".wav"

	files := map[string][]byte{
		"an MP4 file whose sound is in another one": elsewhere(t, silence, canary+".wav", "alis"),
		"an MP4 file whose sound is at an address":  elsewhere(t, silence, "file://"+canary+".wav", "url "),
	}
	for name, text := range manifests {
		for prefix, before := range map[string]string{
			"": "", " behind an ID3 tag": tag, " behind a longer ID3 tag": "ID3\x04\x00\x00\x00\x00\x00\x10" + strings.Repeat("\x00", 16), " behind two ID3 tags": tag + tag,
			" behind a mark of FLAC": "fLaC", " behind a mark of AMR": "#!AMR\n", " behind a mark of AAC": "\xff\xf1", " behind a mark of MP3": "\xff\xfb\x90\x00", " behind a mark of Ogg": "OggS",
			" behind a header of WAV": "RIFF\x00\x00\x00\x00WAVE",
		} {
			if name == "HLS of ts" || name == "DASH" || prefix == "" || before == tag {
				files[name+prefix] = []byte(before + text)
			}
		}
	}

	// Without the restrictions some are read, so this test can fail.
	for _, name := range []string{"HLS of ts", "DASH"} {
		voice, out := filepath.Join(dir, "voice.mp3"), filepath.Join(dir, "out.wav")
		if err := os.WriteFile(voice, files[name+" behind an ID3 tag"], 0o600); err != nil {
			t.Fatal(err)
		}
		if err := ffmpeg(t, "-protocol_whitelist", "file", "-i", voice, "-ac", "1", "-ar", "16000", "-c:a", "pcm_s16le", out); err != nil {
			t.Fatal(err)
		}
		sound, err := os.ReadFile(out)
		if err != nil || !hasTone(sound) {
			t.Errorf("%s: without confinement the other file is not read: %v", name, err)
		}
	}
	for program := range listeners {
		t.Run(program, func(t *testing.T) {
			r, kept := listening(t, program)
			for name, content := range files {
				if program != "whisper-cli" && !strings.HasPrefix(name, "HLS of") && !strings.HasPrefix(name, "DASH") && !strings.HasPrefix(name, "an MP4") {
					continue // the conversion is the same
				}
				if tone, _ := spokenIn(t, r, kept, content); tone {
					t.Errorf("%s: the other file was heard", name)
				}
			}
			mediatest.Empty(t, r.dir)
		})
	}
}

// elsewhere is an MP4 file that says that its sound is in another file: its only data reference is another one.
func elsewhere(t *testing.T, mp4 []byte, path, kind string) []byte {
	t.Helper()
	entry := []byte("\x00\x00\x00\x0curl \x00\x00\x00\x01")
	at := bytes.Index(mp4, entry)
	if at < 0 {
		t.Fatal("the file has no data reference")
	}
	var data []byte
	if kind == "url " {
		data = append([]byte(path), 0)
	} else {
		// The path is the one of the type 18, after the 150 bytes of an alias.
		data = append(make([]byte, 150), 0, 18, byte(len(path)>>8), byte(len(path)))
		data = append(append(data, path...), 0, 0, 0xff, 0xff, 0, 0)
	}
	other := binary.BigEndian.AppendUint32(nil, uint32(12+len(data)))
	other = append(append(other, kind...), 0, 0, 0, 0)
	other = append(other, data...)
	changed := append(append(bytes.Clone(mp4[:at]), other...), mp4[at+len(entry):]...)
	for _, box := range []string{"moov", "trak", "mdia", "minf", "dinf", "dref"} { // around it, and so longer
		start := bytes.LastIndex(changed[:at], []byte(box)) - 4
		if start < 0 {
			t.Fatalf("the file has no %s", box)
		}
		size := binary.BigEndian.Uint32(changed[start:])
		binary.BigEndian.PutUint32(changed[start:], size+uint32(len(other)-len(entry)))
	}
	return changed
}
