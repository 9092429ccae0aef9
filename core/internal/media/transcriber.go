package media

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Transcriber is how voice messages are transcribed.
type Transcriber struct {
	steps  [][]string // the commands, in order, with {file} for the voice message's path; none: there is no program
	output string     // the file that the last one writes; empty: it prints the transcript
	about  string
	wanted bool // whether the operator wants voice messages transcribed
}

// NewTranscriber returns one that runs a command of the operator, which prints the transcript of {file}; an empty one
// transcribes nothing.
func NewTranscriber(command []string) Transcriber {
	if len(command) == 0 {
		return Transcriber{about: "voice messages are not transcribed: media.transcribe is empty"}
	}
	return Transcriber{wanted: true, steps: [][]string{command}, about: "voice messages are transcribed by the command of media.transcribe"}
}

// FindTranscriber looks for an installed program and its model, in the caches of a home folder, unless a model is given.
func FindTranscriber(home, model string) Transcriber {
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
	return Transcriber{wanted: true, about: "voice messages are not transcribed: " + strings.Join(lacking, "; ")}
}

// String says what transcribes, or why nothing does.
func (t Transcriber) String() string { return t.about }

// Missing reports whether a program is wanted, but none was found.
func (t Transcriber) Missing() bool { return t.wanted && len(t.steps) == 0 }

// kind is a program that can be found.
type kind struct {
	names  []string // the first that is installed is used
	models []string // patterns of the usual places of models; ~ is the home folder
	// size returns the size of the model at a path; not ok if there is no model of its form.
	size   func(path string) (n int64, ok bool)
	ffmpeg string     // why ffmpeg is needed; empty: it is not
	steps  [][]string // {program}, {ffmpeg} and {model} are replaced
	output string
	model  string // what its model is called in the log
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
		ffmpeg: "to convert voice messages",
		steps: [][]string{
			// At most an hour of sound, 115 MB.
			{"{ffmpeg}", "-nostdin", "-v", "error", "-protocol_whitelist", "file", "-i", "{file}", "-t", "3600", "-ar", "16000", "-ac", "1", "-c:a", "pcm_s16le", "said.wav"},
			{"{program}", "--no-prints", "--no-timestamps", "--language", "auto", "--model", "{model}", "--file", "said.wav"},
		},
		model: "a model ggml-*.bin",
	},
	{
		names:  []string{"whisper-ctranslate2"},
		models: []string{"~/.cache/huggingface/hub/models--*--faster-*whisper-*/snapshots/*"},
		size:   func(path string) (int64, bool) { return sizeOf(filepath.Join(path, "model.bin")) },
		steps:  [][]string{{"{program}", "{file}", "--model_directory", "{model}", "--local_files_only", "True", "--output_dir", ".", "--output_format", "txt", "--verbose", "False"}},
		output: "voice.txt",
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
		ffmpeg: "which it runs itself",
		steps:  [][]string{{"{program}", "{file}", "--model", "{model}", "--output_dir", ".", "--output_format", "txt", "--verbose", "False"}},
		output: "voice.txt",
		model:  "a model *.pt",
	},
}

// find returns how the program transcribes, or what it lacks; neither if it is not installed, or not for that model.
func (k kind) find(home, model string) (Transcriber, string) {
	program := ""
	for _, name := range k.names {
		if path, err := exec.LookPath(name); err == nil {
			program = path
			break
		}
	}
	if program == "" {
		return Transcriber{}, ""
	}
	name := filepath.Base(program)
	if model == "" {
		if model = k.largest(home); model == "" {
			return Transcriber{}, fmt.Sprintf("%s is installed, but %s is in none of the usual places", name, k.model)
		}
	} else if _, ok := k.size(model); !ok {
		return Transcriber{}, ""
	}
	ffmpeg, err := exec.LookPath("ffmpeg")
	if err != nil && k.ffmpeg != "" {
		return Transcriber{}, fmt.Sprintf("%s is installed, but not ffmpeg, %s", name, k.ffmpeg)
	}
	t := Transcriber{wanted: true, output: k.output, about: fmt.Sprintf("voice messages are transcribed by %s with the model %s", program, model)}
	for _, step := range k.steps {
		var words []string
		for _, word := range step {
			words = append(words, strings.NewReplacer("{program}", program, "{ffmpeg}", ffmpeg, "{model}", model).Replace(word))
		}
		t.steps = append(t.steps, words)
	}
	return t, ""
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
