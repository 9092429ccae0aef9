package stub

import (
	"encoding/json"
	"strings"
)

// Script controls how the stub treats a message. In a message's text it is written as [[stub {...}]];
// CLAUDE_STUB_SCRIPT is the script of all other messages. Only the first in a message counts.
type Script struct {
	Answer       string `json:"answer,omitempty"`         // the answer's text; empty: an echo
	Say          string `json:"say,omitempty"`            // the answer's text, in which variables are replaced, see session.say
	Thinking     string `json:"thinking,omitempty"`       // what is thought before
	DelayMS      int    `json:"delay_ms,omitempty"`       // before the answer begins
	TokenDelayMS int    `json:"token_delay_ms,omitempty"` // between the words of the answer
	// a shell command that is run before each word of the answer but the first; $WORD is the word's number
	Pause  string   `json:"pause,omitempty"`
	Tool   string   `json:"tool,omitempty"`   // a shell command, run as the Bash tool before the answer
	Tools  []string `json:"tools,omitempty"`  // more of them, one after the other
	Before string   `json:"before,omitempty"` // the text before the first use of a tool
	Ask    bool     `json:"ask,omitempty"`    // ask for permission before each of these tools
	Denied string   `json:"denied,omitempty"` // why no tool is allowed, as the CLI names what decides so: rule, mode, classifier
	Calls  []Call   `json:"calls,omitempty"`  // uses of the host's tools, after those
	Files  []File   `json:"files,omitempty"`  // changes of files, one after the other, after the shell commands
	Agents []Agent  `json:"agents,omitempty"` // subagents, one after the other, after the tools
	// uses of TodoWrite, TaskCreate and TaskUpdate: each before the shell command in the same place, further ones after these
	Todos []Call `json:"todos,omitempty"`
	Plan  string `json:"plan,omitempty"`  // a plan that is shown before the answer, by ExitPlanMode
	Again bool   `json:"again,omitempty"` // the tools are used again when the turn goes on after a kill
	// text that is streamed before the connection is cut, and the request tried again
	Lost string `json:"lost,omitempty"`
	// text that a classifier stops; the answer follows, or, with the error "refusal", none
	Refused  string `json:"refused,omitempty"`
	Retries  int    `json:"retries,omitempty"`  // of the request that brings the answer, before anything is streamed
	Aside    string `json:"aside,omitempty"`    // what side questions get meanwhile: "unsupported", "failed", "hang", or a text
	Error    string `json:"error,omitempty"`    // a name of the failures table: the turn fails so
	Outgrown bool   `json:"outgrown,omitempty"` // the turn fails with "overflow" where the conversation had begun before it
	// this turn fails with "other", in a "process" that did not resume the conversation; or this and all later ones, if
	// the "conversation" began before it, or "always"
	Rejected string `json:"rejected,omitempty"`
	Fallback string `json:"fallback,omitempty"` // this model answers, as the chosen one is overloaded
	Context  int    `json:"context,omitempty"`  // what the conversation takes of the window after the answer, in tokens
	Window   int    `json:"window,omitempty"`   // the window from now on, in tokens
	Compact  bool   `json:"compact,omitempty"`  // compact before the answer
	// "stream": stop in the tool or the answer; "deaf": and take no interrupt; "dead": nor SIGINT
	Hang        string `json:"hang,omitempty"`
	Keeps       bool   `json:"keeps,omitempty"`       // lines that wait cannot be withdrawn, as if they had just begun
	Garbage     bool   `json:"garbage,omitempty"`     // lines that are no JSON and events of unknown type
	Noise       int    `json:"noise,omitempty"`       // so many lines that are no JSON
	Huge        int    `json:"huge,omitempty"`        // the answer is this many bytes long
	Endless     bool   `json:"endless,omitempty"`     // a line without an end
	Mute        bool   `json:"mute,omitempty"`        // stdout is closed, and nothing else happens
	Unsolicited bool   `json:"unsolicited,omitempty"` // a turn without a request runs before this one
	Peer        string `json:"peer,omitempty"`        // another process writes this into the session, before the answer
	PeerLater   string `json:"peer_later,omitempty"`  // the same, once the turn is over
	Void        string `json:"void,omitempty"`        // the turn ends without asking the model: "once", or "always"
	Question    string `json:"question,omitempty"`    // a control request of this subtype before the answer
	Loses       string `json:"loses,omitempty"`       // as the process leaves, it says that it could not save its transcript, for this reason
	Blocks      bool   `json:"blocks,omitempty"`      // the answer's lines are text blocks of their own
	Hold        int    `json:"hold,omitempty"`        // MB of memory that the process holds from now on

	// Sends are further events: "before" anything else of the turn, before its "answer", and "after" its result.
	Sends map[string][]map[string]any `json:"sends,omitempty"`

	// Questions are asked before the answer, by AskUserQuestion: the tool's input of that name.
	Questions json.RawMessage `json:"questions,omitempty"`

	// Elicits are requests of MCP servers for people before the answer, each as a use of a tool of the server: the fields of
	// the CLI's request, without its subtype. The output of the tool is what the server gets.
	Elicits []map[string]json.RawMessage `json:"elicits,omitempty"`

	// Crash kills the process once for this message: "before" it is consumed, at the "ack" (echoed, not yet in the
	// transcript: the CLI writes it some 100 ms later), once it is "consumed" (in the transcript), in the "tool", as a
	// line is "queued" behind the turn, as such a line is "taken" into the turn (echoed, not yet in the transcript), once
	// it is "steered" (in the transcript), in the "answer" (half streamed), "answered" (in the transcript, no result yet),
	// after the "result", and each time that stdin ends while it asks, also as it goes on later ("orphaned"; else it takes
	// that for a no and goes on).
	Crash string `json:"crash,omitempty"`
	Exit  *int   `json:"exit,omitempty"` // Crash leaves with this exit code, not by SIGKILL
}

// Call is a use of one of the host's tools, or of the CLI's for a list of what is to do.
type Call struct {
	Tool  string         `json:"tool"` // as the host names it, without "mcp__clawhost__"
	Input map[string]any `json:"input"`
}

// Agent is a subagent.
type Agent struct {
	What string `json:"what"` // describes it
	Tool string `json:"tool"` // a shell command that it runs before it is done
	// Background has it go on while the turn does, and after its result; then a turn without a request follows, as if
	// background tasks were not switched off.
	Background bool `json:"background"`
}

// directive finds a script in text and returns it with the text around it.
func directive(text string, fallback Script) (Script, string) {
	const open, end = "[[stub ", "]]"
	before, rest, found := strings.Cut(text, open)
	if !found {
		return fallback, text
	}
	var script Script
	decoder := json.NewDecoder(strings.NewReader(rest))
	if err := decoder.Decode(&script); err != nil {
		return fallback, text
	}
	after, found := strings.CutPrefix(rest[decoder.InputOffset():], end)
	if !found {
		return fallback, text
	}
	return script, strings.TrimSpace(before + after)
}

// failure is the shape of a turn that fails, as the CLI shows it.
type failure struct {
	text     string // of the synthetic message and the result
	error    string // the synthetic message's error
	status   int    // api_error_status; zero: null
	stop     string // stop_reason
	terminal string // terminal_reason
	subtype  string // of the result
	resetsAt int64  // a rate_limit_event before it
	retries  int    // api_retry events before it
	refusal  bool   // a model_refusal_no_fallback event before it
}

// failures are the error turns that were observed, by the names that Script.Error takes.
var failures = map[string]failure{
	"401":        {text: "Invalid API key · Fix external API key", error: "authentication_failed", status: 401, retries: 1},
	"403":        {text: "Failed to authenticate. API Error: 403 Your account does not have access", error: "authentication_failed", status: 403},
	"nologin":    {text: "Not logged in · Please run /login", error: "authentication_failed"},
	"402":        {text: "API Error: 402 payment required", error: "unknown", status: 402},
	"credit":     {text: "Credit balance is too low", error: "billing_error", status: 400},
	"429":        {text: "API Error: Request rejected (429) · slow down", error: "rate_limit", status: 429, retries: 1},
	"limit":      {text: "You've hit your session limit · resets 8:33am (UTC)", error: "rate_limit", status: 429, resetsAt: 1795250000},
	"500":        {text: "API Error: 500 boom. This is a server-side issue", error: "server_error", status: 500, retries: 1},
	"529":        {text: "API Error: 529 Overloaded. This is a server-side issue", error: "server_error", status: 529, retries: 1},
	"529repeat":  {text: "API Error: Repeated 529 Overloaded errors", error: "server_error"},
	"overloaded": {text: "API Error: Overloaded", error: "unknown"},
	"refused":    {text: "API Error: Unable to connect to API (ConnectionRefused)", error: "server_error", retries: 1},
	"timeout":    {text: "Request timed out", error: "server_error"},
	"timeout2":   {text: "API Error: The operation timed out.", error: "unknown"},
	"overflow":   {text: "Prompt is too long · the request is ~210000 tokens (limit 200000)", error: "invalid_request", status: 400, terminal: "prompt_too_long"},
	"blocking":   {text: "Prompt is too long", error: "invalid_request", terminal: "blocking_limit"},
	"window":     {text: "API Error: The model has reached its context window limit.", error: "max_output_tokens"},
	"413":        {text: "Request too large (max 32MB). Try with a smaller file.", error: "invalid_request", status: 413, terminal: "image_error"},
	"refusal":    {text: "API Error: Claude Code is unable to respond to this request, which appears to violate our Usage Policy", error: "invalid_request", stop: "refusal", refusal: true},
	"filter":     {text: "API Error: 400 Output blocked by content filtering policy", error: "unknown", status: 400},
	"404":        {text: "There's an issue with the selected model (nope). It may not exist or you may not have access to it.", error: "model_not_found", status: 404},
	"other":      {text: "API Error: 400 something else", error: "invalid_request", status: 400},
	"maxturns":   {subtype: "error_max_turns", terminal: "max_turns"},
	"budget":     {subtype: "error_max_budget_usd"},
}
