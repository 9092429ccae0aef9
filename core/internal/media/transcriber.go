package media

import (
	"fmt"
	"io/fs"
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
	wanted bool // whether it was looked for
}

// NewTranscriber returns one that runs a command of the operator, which prints the transcript of {file}; an empty one
// transcribes nothing.
func NewTranscriber(command []string) Transcriber {
	if len(command) == 0 {
		return Transcriber{about: "voice messages are not transcribed: media.transcribe is empty"}
	}
	return Transcriber{steps: [][]string{command}, about: "voice messages are transcribed by the command of media.transcribe"}
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

// Missing reports whether no program was found although one is wanted.
func (t Transcriber) Missing() bool { return t.wanted && len(t.steps) == 0 }

// kind is a program that can be found.
type kind struct {
	names  []string // the first that is installed is used
	models []string // patterns of the usual places of models; ~ is the home folder
	// fits reports whether a path has the form of its models.
	fits     func(path string, info fs.FileInfo) bool
	ffmpeg   string     // why ffmpeg is needed; empty: it is not
	steps    [][]string // {program}, {ffmpeg} and {model} are replaced
	output   string
	advising string // what its model is called in the log
}

// kinds are the programs in the order in which they are looked for. None of them fetches a model while a turn waits.
var kinds = []kind{
	{
		names: []string{"whisper-cli", "whisper-cpp"},
		models: []string{
			"~/.cache/whisper.cpp/ggml-*.bin", "~/.local/share/whisper.cpp/models/ggml-*.bin",
			"/usr/local/share/whisper.cpp/models/ggml-*.bin", "/usr/share/whisper.cpp/models/ggml-*.bin",
		},
		fits: func(path string, info fs.FileInfo) bool {
			return info.Mode().IsRegular() && filepath.Ext(path) != ".pt" && !strings.Contains(filepath.Base(path), "silero") // which only tells speech from silence
		},
		ffmpeg: "to convert voice messages",
		steps: [][]string{
			// At most an hour of sound, 115 MB.
			{"{ffmpeg}", "-nostdin", "-v", "error", "-protocol_whitelist", "file", "-i", "{file}", "-t", "3600", "-ar", "16000", "-ac", "1", "-c:a", "pcm_s16le", "said.wav"},
			{"{program}", "--no-prints", "--no-timestamps", "--language", "auto", "--model", "{model}", "--file", "said.wav"},
		},
		advising: "a model ggml-*.bin",
	},
	{
		names:  []string{"whisper-ctranslate2"},
		models: []string{"~/.cache/huggingface/hub/models--*--faster-*whisper-*/snapshots/*"},
		fits: func(path string, info fs.FileInfo) bool {
			return info.IsDir() && exists(filepath.Join(path, "model.bin"))
		},
		steps:    [][]string{{"{program}", "{file}", "--model_directory", "{model}", "--local_files_only", "True", "--output_dir", ".", "--output_format", "txt", "--verbose", "False"}},
		output:   "voice.txt",
		advising: "a faster-whisper model",
	},
	{
		names:  []string{"whisper"},
		models: []string{"~/.cache/whisper/*.pt"},
		fits: func(path string, info fs.FileInfo) bool {
			return info.Mode().IsRegular() && filepath.Ext(path) == ".pt"
		},
		ffmpeg:   "which it runs itself",
		steps:    [][]string{{"{program}", "{file}", "--model", "{model}", "--output_dir", ".", "--output_format", "txt", "--verbose", "False"}},
		output:   "voice.txt",
		advising: "a model *.pt",
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
			return Transcriber{}, fmt.Sprintf("%s is installed, but %s is in none of the usual places", name, k.advising)
		}
	} else if info, err := os.Stat(model); err != nil || !k.fits(model, info) {
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
			info, err := os.Stat(path)
			if err != nil || !k.fits(path, info) {
				continue
			}
			if info.IsDir() {
				if info, err = os.Stat(filepath.Join(path, "model.bin")); err != nil {
					continue
				}
			}
			if info.Size() > most {
				model, most = path, info.Size()
			}
		}
		if model != "" {
			return model
		}
	}
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
