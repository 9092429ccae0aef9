package speech

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
)

// Method is how voice messages are transcribed.
type Method struct {
	steps  [][]string // the commands, in order, with the placeholders {file} and {format}; none: there is no program
	output string     // the file that the last one writes; empty: it prints the transcript
	about  string
	wanted bool // whether the operator wants voice messages transcribed
}

// MethodOf returns the method that a config asks for.
func MethodOf(c config.Media) Method {
	if !c.FindTranscriber {
		return NewMethod(c.Transcribe)
	}
	home, _ := os.UserHomeDir() // without one, models are only looked for elsewhere
	return FindMethod(home, c.TranscribeModel)
}

// NewMethod returns the method of a command of the operator. The command prints the transcript of the file {file}, whose container is
// {format}. With an empty command nothing is transcribed.
func NewMethod(command []string) Method {
	if len(command) == 0 {
		return Method{about: "voice messages are not transcribed: media.transcribe is empty"}
	}
	return Method{wanted: true, steps: [][]string{command}, about: "voice messages are transcribed by the command of media.transcribe"}
}

// FindMethod looks for an installed program and its model, in the caches of a home folder, unless a model is given.
func FindMethod(home, model string) Method {
	var lacking []string
	for _, k := range kinds {
		found, problem := k.find(home, model)
		if len(found.steps) > 0 {
			return found
		}
		if problem != "" {
			lacking = append(lacking, problem)
		}
	}
	if len(lacking) == 0 {
		lacking = []string{"no program for it is installed"}
		if model != "" {
			lacking = []string{"no program for the model " + model + " is installed"}
		}
	}
	return Method{wanted: true, about: "voice messages are not transcribed: " + strings.Join(lacking, "; ")}
}

// String says what transcribes, or why nothing does.
func (m Method) String() string { return m.about }

// Missing reports whether a program is wanted, but none was found.
func (m Method) Missing() bool { return m.wanted && len(m.steps) == 0 }

// Wanted reports whether the operator wants voice messages transcribed.
func (m Method) Wanted() bool { return m.wanted }

// kind is a program that can be found.
type kind struct {
	names  []string // the first that is installed is used
	models []string // patterns of the usual places of models; ~ is the home folder
	// size returns the size of the model at a path; not ok if there is no model of its form.
	size   func(path string) (n int64, ok bool)
	args   []string // of the program, which reads the WAV file said.wav; {model} is replaced
	output string   // the file that it writes; empty: it prints the transcript
	model  string   // what its model is called in the log
}

// conversion makes the WAV file that programs transcribe, of at most an hour, 115 MB. If ffmpeg chose the container itself, what
// people send could be a playlist that makes it read other files or ask servers. So it gets the container that the host has
// detected, and may read only files.
var conversion = []string{
	"-nostdin", "-v", "error",
	"-f", "{format}", "-format_whitelist", "{format}", "-protocol_whitelist", "file", "-codec_whitelist", codecs, "-vn",
	"-sn", "-dn", "-i", "file:{file}",
	"-t", "3600", "-ar", "16000", "-ac", "1", "-c:a", "pcm_s16le", "-f", "wav", "file:said.wav",
}

// codecs are ffmpeg's decoders for voice messages and usual sound files. What people send is read by no others.
const codecs = "opus,libopus,vorbis,libvorbis,speex,libspeex,flac,mp3,mp3float,aac,aac_fixed,libfdk_aac,alac," +
	"amrnb,libopencore_amrnb,amrwb,libopencore_amrwb,gsm,gsm_ms,libgsm,libgsm_ms,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,pcm_alaw,pcm_mulaw," +
	"pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be"

// formats maps MIME types of sound to ffmpeg's names of their containers.
var formats = map[string]string{
	"audio/ogg": "ogg", "audio/mpeg": "mp3", "audio/aac": "aac", "audio/flac": "flac", "audio/amr": "amr", "audio/mp4": "mov", "audio/x-m4a": "mov",
	"audio/webm": "matroska", "audio/wav": "wav", "audio/aiff": "aiff",
}

// kinds are the programs in the order in which they are looked for. None of them fetches a model while a turn waits.
var kinds = []kind{
	{
		names: []string{"whisper-cli", "whisper-cpp"},
		models: []string{
			"~/.cache/whisper.cpp/ggml-*.bin", "~/.local/share/whisper.cpp/models/ggml-*.bin",
			"/usr/local/share/whisper.cpp/models/ggml-*.bin", "/usr/share/whisper.cpp/models/ggml-*.bin",
		},
		size: func(path string) (int64, bool) {
			// A silero model tells speech from silence and transcribes nothing.
			if filepath.Ext(path) == ".pt" || strings.Contains(filepath.Base(path), "silero") {
				return 0, false
			}
			return sizeOf(path)
		},
		args:  []string{"--no-prints", "--no-timestamps", "--language", "auto", "--model", "{model}", "--file", "said.wav"},
		model: "a model ggml-*.bin",
	},
	{
		names:  []string{"whisper-ctranslate2"},
		models: []string{"~/.cache/huggingface/hub/models--*--faster-*whisper-*/snapshots/*"},
		size:   func(path string) (int64, bool) { return sizeOf(filepath.Join(path, "model.bin")) },
		args: []string{
			"said.wav", "--model_directory", "{model}", "--local_files_only", "True", "--output_dir", ".",
			"--output_format", "txt", "--verbose", "False",
		},
		output: "said.txt",
		model:  "a faster-whisper model",
	},
	{
		names:  []string{"whisper"},
		models: []string{"~/.cache/whisper/*.pt"},
		size: func(path string) (int64, bool) {
			if filepath.Ext(path) != ".pt" {
				return 0, false
			}
			return sizeOf(path)
		},
		args:   []string{"said.wav", "--model", "{model}", "--output_dir", ".", "--output_format", "txt", "--verbose", "False"},
		output: "said.txt",
		model:  "a model *.pt",
	},
}

// find returns how the program transcribes, or what it lacks; neither if it is not installed, or not for that model.
func (k kind) find(home, model string) (Method, string) {
	program := ""
	for _, name := range k.names {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return Method{}, ""
	}
	name := filepath.Base(program)
	if model == "" {
		if model = k.largest(home); model == "" {
			return Method{}, fmt.Sprintf("%s is installed, but %s is in none of the usual places", name, k.model)
		}
	} else if _, ok := k.size(model); !ok {
		return Method{}, ""
	}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil {
		return Method{}, fmt.Sprintf("%s is installed, but not ffmpeg, to convert voice messages", name)
	}
	words := []string{program}
	for _, word := range k.args {
		words = append(words, strings.ReplaceAll(word, "{model}", model))
	}
	return Method{
		wanted: true, steps: [][]string{append([]string{ffmpeg}, conversion...), words}, output: k.output,
		about: fmt.Sprintf("voice messages are transcribed by %s with the model %s", program, model),
	}, ""
}

// largest returns the largest model in the first usual place that has one, or "".
func (k kind) largest(home string) (model string) {
	var most int64 = -1
	for _, pattern := range k.models {
		if rest, ok := strings.CutPrefix(pattern, "~/"); ok {
			if home == "" {
				continue
			}
			pattern = filepath.Join(home, rest)
		}
		found, _ := filepath.Glob(pattern) // its only error is that of a pattern
		for _, path := range found {
			if size, ok := k.size(path); ok && size > most {
				model, most = path, size
			}
		}
		if model != "" {
			return model
		}
	}
	return ""
}

func sizeOf(path string) (n int64, ok bool) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return 0, false
	}
	return info.Size(), true
}
