package speech_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/media/mediatest"
	"github.com/clawhost/clawhost/core/internal/media/speech"
)

// Behaviour: transcribe-found, transcribe-missing.
func TestFindMethod(t *testing.T) {
	const snapshot = ".cache/huggingface/hub/models--Systran--faster-whisper-small/snapshots/abc/model.bin"
	for name, test := range map[string]struct {
		programs string
		models   map[string]string
		model    string // below the home folder
		want     string // an end of what is said
	}{
		"nothing":               {want: "no program for it is installed"},
		"no model":              {programs: "whisper-cli ffmpeg", want: "whisper-cli is installed, but a model ggml-*.bin is in none of the usual places"},
		"no ffmpeg":             {programs: "whisper-cli", models: map[string]string{".cache/whisper.cpp/ggml-base.bin": "m"}, want: "whisper-cli is installed, but not ffmpeg, to convert voice messages"},
		"whisper.cpp":           {programs: "whisper-cli whisper-cpp whisper ffmpeg", models: map[string]string{".cache/whisper.cpp/ggml-base.bin": "m", ".cache/whisper.cpp/ggml-small.bin": "mm", ".cache/whisper.cpp/ggml-silero.bin": "mmm"}, want: "/whisper-cli with the model HOME/.cache/whisper.cpp/ggml-small.bin"},
		"its older name":        {programs: "whisper-cpp ffmpeg", models: map[string]string{".cache/whisper.cpp/ggml-base.bin": "m"}, want: "/whisper-cpp with the model HOME/.cache/whisper.cpp/ggml-base.bin"},
		"faster-whisper":        {programs: "whisper-ctranslate2 whisper ffmpeg", models: map[string]string{snapshot: "m"}, want: "/whisper-ctranslate2 with the model HOME/" + filepath.Dir(snapshot)},
		"no ffmpeg for another": {programs: "whisper-ctranslate2", models: map[string]string{snapshot: "m"}, want: "whisper-ctranslate2 is installed, but not ffmpeg, to convert voice messages"},
		"whisper":               {programs: "whisper-cli whisper ffmpeg", models: map[string]string{".cache/whisper/base.pt": "m"}, want: "/whisper with the model HOME/.cache/whisper/base.pt"},
		"two without":           {programs: "whisper-ctranslate2 whisper", models: map[string]string{".cache/whisper/base.pt": "m"}, want: "a faster-whisper model is in none of the usual places; whisper is installed, but not ffmpeg, to convert voice messages"},
		"a model of whisper":    {programs: "whisper-cli whisper ffmpeg", models: map[string]string{"a.pt": "m", ".cache/whisper.cpp/ggml-base.bin": "m"}, model: "a.pt", want: "/whisper with the model HOME/a.pt"},
		"a folder":              {programs: "whisper-cli whisper-ctranslate2 ffmpeg", models: map[string]string{"fast/model.bin": "m"}, model: "fast", want: "/whisper-ctranslate2 with the model HOME/fast"},
		"a model without one's": {programs: "whisper-cli ffmpeg", models: map[string]string{"a.pt": "m"}, model: "a.pt", want: "no program for the model HOME/a.pt is installed"},
	} {
		t.Run(name, func(t *testing.T) {
			home, bin := t.TempDir(), t.TempDir()
			t.Setenv("PATH", bin)
			programs := map[string]string{}
			for _, p := range strings.Fields(test.programs) {
				programs[p] = "#!/bin/sh\n"
			}
			mediatest.Install(t, bin, 0o700, programs)
			mediatest.Install(t, home, 0o600, test.models)
			model := test.model
			if model != "" {
				model = filepath.Join(home, model)
			}
			found := speech.FindMethod(home, model)
			want := strings.ReplaceAll(test.want, "HOME", home)
			if got := found.String(); !strings.HasSuffix(got, want) {
				t.Errorf("it says %q, want %q", got, want)
			}
			if missing := !strings.Contains(want, "with the model"); found.Missing() != missing {
				t.Errorf("missing: %v", found.Missing())
			}
		})
	}
}

// fakeWhisper accepts what whisper and whisper-ctranslate2 do, and writes the transcript where they do.
const fakeWhisper = `#!/bin/sh
set -eu
out= format=all file= verbose=True
while [ $# -gt 0 ]; do
	case "$1" in
	--output_dir) out=$2; shift 2 ;;
	--output_format) format=$2; shift 2 ;;
	--verbose) verbose=$2; shift 2 ;;
	--model | --model_directory) [ -e "$2" ]; shift 2 ;;
	--local_files_only) [ "${0##*/}" = whisper-ctranslate2 ] && [ "$2" = True ]; shift 2 ;;
	-*) echo "unrecognized arguments: $1" >&2; exit 2 ;;
	*) file=${1##*/}; [ -f "$1" ]; shift ;;
	esac
done
[ "$format" = txt ] && [ "$verbose" = False ] && [ "$(cat "$file")" = "ogg to wav" ]
echo 'buy some tea' > "$out/${file%.*}.txt"
`

// fakeFFmpeg writes what it was asked to convert.
const fakeFFmpeg = `#!/bin/sh
set -eu
while [ $# -gt 1 ]; do
	if [ "$1" = -f ]; then from=${to:-} to=$2; fi
	shift
done
echo "$from to $to" > "${1#file:}"
`

// The programs that write the transcript to a file are run with their options, and their files are read.
// Behaviour: transcribe-found.
func TestFoundPrograms(t *testing.T) {
	for program, model := range map[string]string{
		"whisper":             ".cache/whisper/base.pt",
		"whisper-ctranslate2": ".cache/huggingface/hub/models--Systran--faster-whisper-small/snapshots/abc/model.bin",
	} {
		t.Run(program, func(t *testing.T) {
			r := setupReading(t)
			home, bin := t.TempDir(), t.TempDir()
			t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
			mediatest.Install(t, bin, 0o700, map[string]string{program: fakeWhisper, "ffmpeg": fakeFFmpeg})
			mediatest.Install(t, home, 0o600, map[string]string{model: "m"})
			r.method = speech.FindMethod(home, "")
			if got, want := r.heard(t, r.voice(t, "hello")), (domain.Extract{Text: "buy some tea"}); got != want {
				t.Errorf("heard %+v, want %+v; %s", got, want, r.method)
			}
			mediatest.Empty(t, r.dir)
		})
	}
}
