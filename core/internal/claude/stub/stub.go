// Package stub is the engine of claude-stub, a stand-in for the claude CLI 2.1.329: the same flags, the same lines on
// stdin and stdout, the same transcript on disk, the same exit codes, as they were observed on the real binary. What it
// answers is an echo, or what a directive in the message's text scripts: [Script] has its keys. A demo takes words instead, those of
// [demoList].
//
// As with the CLI, a line that comes during a turn is steered into it behind the next tool's result, or else waits for its
// end and runs then, merged with others that wait. An id that the process has seen is echoed and not run, even if the
// line was withdrawn; a later process knows only the ids of turns, not those of steered lines. "/compact" compacts. Texts and
// thoughts are streamed by words. The host's MCP server is greeted on initialize, asked for its tools, and called; side
// questions are answered alongside the turn. Pictures that the CLI or the API does not take are replaced by the CLI's notes.
//
// The environment: CLAUDE_STUB_SCRIPT is a script for all messages, CLAUDE_STUB_DELAY_MS delays each answer,
// CLAUDE_STUB_START_MS the start, CLAUDE_STUB_START_ERROR fails the start with its text, CLAUDE_STUB_RESUME_ERROR that of a session that is resumed,
// CLAUDE_STUB_DEMO=1 makes it a demo, CLAUDE_STUB_LEGACY=1 leaves out what the CLI 2.1.197 did not have.
// CLAUDE_STUB_LIMIT names a file with the time, in seconds since 1970, until which the account's limit is used up, and
// with the models for which it is; none: for all. CLAUDE_STUB_PLAN are the limits of the login's plan, as JSON; none: it is a login
// by key.
package stub

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Version is what the stub calls itself: the CLI's version whose behaviour it shows.
const Version = "2.1.329"

// options is what the command line and the environment choose.
type options struct {
	session  string
	resume   bool
	forkOf   string // resumed under the id of session, of which there is nothing yet
	model    string
	effort   string
	unthink  bool   // thinking is switched off
	fast     bool   // fast mode is switched on
	mode     string // of permissions
	system   string // the appended system prompt
	partial  bool   // stream_event lines
	replay   bool   // echoes of user lines
	input    string
	output   string
	demo     bool
	delay    time.Duration // before each answer
	starting time.Duration // before the process is ready
	hold     time.Duration // of pieces of a text, to join them
	script   Script        // for messages without a directive
	workDir  string
	conf     string // the CLI's configuration folder
	allowed  []string
	asked    []string // tools that are asked about although they are allowed
	server   bool     // the host's MCP server is declared
	servers  []string // other MCP servers, by name
	programs []program
	// checkpoints: the files are kept as they were before each message
	checkpoints bool
	plugin      string // a folder with skills and the like
	startErr    string // fail at start with this line
	legacy      bool   // no command_lifecycle events, as the CLI 2.1.197
	limit       string // the file of the account's limit
	plan        json.RawMessage
	entry       string // sdk-cli, or cli in a terminal
	hasMode     bool   // -p was given
	prompt      string
}

// Run is the stub's main function. It returns the exit code.
func Run(args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer) int {
	for _, arg := range args {
		if arg == "-v" || arg == "--version" {
			fmt.Fprintf(stdout, "%s (Claude Code, the clawhost stub)\n", Version)
			return 0
		}
	}
	opts, err := parse(args, getenv)
	if err != nil {
		fmt.Fprintf(stderr, "Error: %v\n", err)
		return 1
	}
	if opts.startErr != "" {
		fmt.Fprintln(stderr, opts.startErr)
		return 1
	}
	<-time.After(opts.starting)
	log, err := openTranscript(&opts)
	if err != nil {
		fmt.Fprintln(stderr, err)
		if opts.resume && opts.output == "stream-json" {
			out := newOutput(stdout, opts)
			out.send(map[string]any{
				"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
				"total_cost_usd": 0, "errors": []string{err.Error()}, "usage": map[string]any{}, "modelUsage": map[string]any{},
			})
			out.flush()
		}
		return 1
	}
	defer log.close()
	forget := announce(opts)
	defer forget()
	s := &session{
		opts: opts, log: log, out: newOutput(stdout, opts),
		lines: make(chan line), signals: make(chan os.Signal, 1), window: defaultWindow,
		files: openCheckpoints(opts), seen: map[string]bool{}, queued: map[string]bool{}, answers: map[string]json.RawMessage{},
	}
	s.choose(opts.model)
	signal.Notify(s.signals, os.Interrupt)
	s.start()
	if opts.input == "stream-json" {
		go readLines(stdin, s.lines)
	} else {
		text := opts.prompt
		if text == "" {
			all, err := io.ReadAll(stdin)
			if err != nil {
				fmt.Fprintf(stderr, "Error: %v\n", err)
				return 1
			}
			text = string(all)
		}
		if strings.TrimSpace(text) == "" {
			fmt.Fprintln(stderr, "Error: Input must be provided either through stdin or as a prompt argument when using --print")
			return 1
		}
		s.oneshot = true
		s.receive(message{uuid: uuid.NewString(), text: text})
		close(s.lines)
	}
	code := s.loop()
	if s.fatal != "" {
		fmt.Fprintln(stderr, s.fatal)
	}
	return code
}

// parse reads the command line as the CLI does. Flags that the stub has no use for are skipped, with their value.
func parse(args []string, getenv func(string) string) (options, error) {
	opts := options{input: "text", output: "text", mode: "default", effort: defaultEffort}
	fork, given := false, ""
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(args[i], "=")
		if !strings.HasPrefix(name, "-") {
			if opts.prompt == "" {
				opts.prompt = args[i]
			}
			continue
		}
		take := func() string {
			if !joined && i+1 < len(args) {
				i++
				value = args[i]
			}
			return value
		}
		switch name {
		case "-p", "--print":
			opts.hasMode = true
		case "--session-id":
			given = take()
		case "--resume", "-r":
			opts.session, opts.resume = take(), true
		case "--fork-session":
			fork = true
		case "--model":
			opts.model = take()
		case "--effort":
			opts.effort = take()
		case "--permission-mode":
			opts.mode = take()
		case "--input-format":
			opts.input = take()
		case "--output-format":
			opts.output = take()
		case "--include-partial-messages":
			opts.partial = true
		case "--replay-user-messages":
			opts.replay = true
		case "--demo":
			opts.demo = true
		case "--verbose", "--strict-mcp-config":
		case "--allowedTools", "--allowed-tools":
			opts.allowed = append(opts.allowed, take())
			for i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
				opts.allowed = append(opts.allowed, args[i])
			}
		case "--settings", "--append-system-prompt-file", "--system-prompt-file", "--mcp-config":
			text := take()
			if !strings.HasPrefix(text, "{") {
				data, err := os.ReadFile(text)
				if err != nil {
					return opts, fmt.Errorf("%s file not found: %s", strings.TrimLeft(name, "-"), text)
				}
				text = string(data)
			}
			switch name {
			case "--mcp-config":
				opts.declare(text)
			case "--settings":
				var settings struct {
					Permissions struct {
						Ask []string `json:"ask"`
					} `json:"permissions"`
				}
				if err := json.Unmarshal([]byte(text), &settings); err != nil {
					return opts, fmt.Errorf("settings: %w", err)
				}
				opts.asked = settings.Permissions.Ask
			}
		case "--plugin-dir":
			opts.plugin = take()
		default:
			for !joined && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
				i++
			}
		}
	}
	if !opts.hasMode {
		return opts, fmt.Errorf("the stub has no screen: run it with --print")
	}
	switch {
	case fork:
		opts.forkOf, opts.session, opts.resume = opts.session, given, false
	case opts.resume && given != "":
		return opts, errors.New("--session-id can only be used with --resume if --fork-session is also specified")
	case !opts.resume:
		opts.session = given
	}
	if opts.session == "" {
		opts.session = uuid.NewString()
	} else if _, err := uuid.Parse(opts.session); err != nil {
		return opts, fmt.Errorf("invalid session ID, must be a valid UUID: %s", opts.session)
	}
	if opts.input == "stream-json" && opts.output != "stream-json" {
		return opts, fmt.Errorf("--input-format=stream-json requires output-format=stream-json")
	}
	opts.conf = getenv("CLAUDE_CONFIG_DIR")
	if opts.conf == "" {
		opts.conf = getenv("HOME") + "/.claude"
	}
	opts.demo = opts.demo || getenv("CLAUDE_STUB_DEMO") == "1"
	opts.startErr = getenv("CLAUDE_STUB_START_ERROR")
	if opts.resume && opts.startErr == "" {
		opts.startErr = getenv("CLAUDE_STUB_RESUME_ERROR")
	}
	opts.entry = entrypoint(getenv)
	opts.legacy = getenv("CLAUDE_STUB_LEGACY") == "1"
	opts.checkpoints = getenv("CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING") == "1"
	opts.limit = getenv("CLAUDE_STUB_LIMIT")
	if plan := getenv("CLAUDE_STUB_PLAN"); plan != "" {
		opts.plan = json.RawMessage(plan)
	}
	var err error
	if opts.delay, err = milliseconds(getenv, "CLAUDE_STUB_DELAY_MS"); err != nil {
		return opts, err
	}
	if opts.starting, err = milliseconds(getenv, "CLAUDE_STUB_START_MS"); err != nil {
		return opts, err
	}
	if n, err := strconv.Atoi(getenv("CLAUDE_CODE_STREAM_EVENT_HOLD_MS")); err == nil && !opts.legacy {
		opts.hold = time.Duration(n) * time.Millisecond
	}
	if text := getenv("CLAUDE_STUB_SCRIPT"); text != "" {
		if err := json.Unmarshal([]byte(text), &opts.script); err != nil {
			return opts, fmt.Errorf("CLAUDE_STUB_SCRIPT: %w", err)
		}
	}
	opts.workDir, err = os.Getwd()
	return opts, err
}

// milliseconds reads a duration from the environment; zero: there is none.
func milliseconds(getenv func(string) string, name string) (time.Duration, error) {
	text := getenv(name)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return time.Duration(n) * time.Millisecond, nil
}

// defaultEffort stands for the effort where none is chosen.
const defaultEffort = "default"

// resolveModel names the model behind an alias as the CLI does.
func resolveModel(alias string) string {
	switch alias {
	case "", "default", "sonnet":
		return "claude-sonnet-5-5"
	case "opus":
		return "claude-opus-4-8"
	case "haiku":
		return "claude-haiku-4-5-20251001"
	default:
		return alias
	}
}

// choose chooses the model that answers. In a demo none of Claude's does.
func (s *session) choose(alias string) {
	if s.model = resolveModel(alias); s.opts.demo {
		s.model = demoModel
	}
}

// abilities is what the stub reports of its models, as the CLI does.
func abilities() []any {
	var list []any
	for _, alias := range []string{"default", "opus", "sonnet", "haiku"} {
		model := resolveModel(alias)
		tell := map[string]any{"value": alias, "resolvedModel": model, "displayName": alias, "supportsThinkingOff": thinkless(model)}
		if quick(model) {
			tell["supportsFastMode"] = true
		}
		list = append(list, tell)
	}
	return list
}

// thinkless reports whether a model can answer without thinking, quick whether it has a fast mode.
func thinkless(model string) bool { return model != resolveModel("sonnet") }

func quick(model string) bool { return model == resolveModel("opus") }

// thinking is whether the model thinks before it answers.
func (s *session) thinking() string {
	if s.opts.unthink && thinkless(s.model) {
		return "off"
	}
	return "on"
}

// speed is the CLI's state of fast mode.
func (s *session) speed() string {
	if s.opts.fast && quick(s.model) {
		return "on"
	}
	return "off"
}

// line is one line of stdin.
type line struct{ data []byte }

// readLines sends the lines of r, however long, and closes the channel at its end. The process's exit ends it.
func readLines(r io.Reader, lines chan<- line) {
	defer close(lines)
	buffered := bufio.NewReaderSize(r, 64<<10)
	for {
		data, err := buffered.ReadBytes('\n')
		if len(data) > 0 {
			lines <- line{data: data}
		}
		if err != nil {
			return
		}
	}
}
