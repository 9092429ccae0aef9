package wording

import (
	"fmt"
	"strings"
)

// maxPeople bounds a list of people.
const maxPeople = 50

// Person is a user who wants to write to the agent.
type Person struct {
	Name string
	ID   string // as channel:user
	Code string // of the pairing
}

// Answers of the commands about people.
const (
	AllowlistOptions = "Options: list, add [CHANNEL] USER, remove [CHANNEL] USER."
	UserIDTooLong    = "This is too long for a user's ID."

	NoPairingWithCode = "No pairing request has this code. Codes are valid for one hour."
	NoPairingCode     = "This is not a pairing code. It has eight letters and digits, none of them I, O, 0 or 1."
)

// AllowlistNeedsUser answers /allowlist add or remove without a user.
func AllowlistNeedsUser(action string) string {
	return fmt.Sprintf("/allowlist %s needs a user: /allowlist %s [CHANNEL] USER.", action, action)
}

// NoChannel answers a command with the name of a channel that does not exist.
func NoChannel(channel string) string {
	return fmt.Sprintf("There is no channel %s. /status lists them.", Code(channel))
}

// Allowed answers /allowlist add.
func Allowed(id string) string { return fmt.Sprintf("%s may write to me now.", identity(id)) }

// Disallowed answers /allowlist remove: whether the person was on the list, and whether the config still permits them.
func Disallowed(id string, was, configured bool) string {
	said := fmt.Sprintf("%s is no longer on the list.", identity(id))
	if !was {
		said = fmt.Sprintf("%s is not on the list.", identity(id))
	}
	if configured {
		said += " The config file still lets them in."
	}
	return said
}

// Allowlist shows who may write on a channel by the config, and who was approved on any channel.
func Allowlist(channel string, configured, allowed []string) string {
	return fmt.Sprintf("**Who may write to me**\n\nBy the config file, on %s:\n%s\n\nApproved by an owner:\n%s",
		Code(channel), people(configured), people(allowed))
}

func people(ids []string) string {
	if len(ids) == 0 {
		return "\n- nobody"
	}
	var b strings.Builder
	for _, id := range ids[:min(len(ids), maxPeople)] {
		fmt.Fprintf(&b, "\n- %s", identity(id))
	}
	if more := len(ids) - maxPeople; more > 0 {
		fmt.Fprintf(&b, "\n- and %d more", more)
	}
	return b.String()
}

// Pairings lists the pairing requests.
func Pairings(list []Person) string {
	if len(list) == 0 {
		return "There are no pairing requests."
	}
	var b strings.Builder
	b.WriteString("**Pairing requests**\n")
	for _, p := range list[:min(len(list), maxPeople)] {
		fmt.Fprintf(&b, "\n- `%s`: %s, %s", p.Code, Code(Visible(p.Name)), identity(p.ID))
	}
	b.WriteString("\n\n`/approve CODE` lets somebody in, `/deny CODE` refuses.")
	return b.String()
}

// PairingNeedsCode answers /approve or /deny in a group.
func PairingNeedsCode(command string) string {
	return fmt.Sprintf("/%s needs a code. In a direct chat it lists the pairing requests.", command)
}

// PairingNeedsChannel answers /approve or /deny with a code that is pending on several channels.
func PairingNeedsChannel(command string) string {
	return fmt.Sprintf("Requests on several channels have this code. Name the channel: /%s CHANNEL CODE.", command)
}

// PairingApproved answers /approve with a code.
func PairingApproved(p Person) string {
	return fmt.Sprintf("%s, %s, may write to me now, and was told so.", Code(Visible(p.Name)), identity(p.ID))
}

// PairingDenied answers /deny with a code.
func PairingDenied(p Person) string {
	return fmt.Sprintf("The request of %s, %s, is refused.", Code(Visible(p.Name)), identity(p.ID))
}

// PairingOffered tells a stranger how to get access.
func PairingOffered(user, code, channel string) string {
	return fmt.Sprintf("I do not know you yet, so I cannot answer.\n\n"+
		"Your user ID: %s\n\nYour pairing code, valid for one hour:\n\n```\n%s\n```\n\n"+
		"To let you in, my owner runs this where clawhost runs:\n\n```\nclawhost pairing approve %s %s\n```", Code(user),
		code, channel, code)
}

// Welcome tells a person that they have access.
func Welcome(name string) string {
	return fmt.Sprintf("Welcome, %s. You may write to me now; /help lists what else you can do.", name)
}

// StrangerAsks tells an owner that a person asks for access. It contains no names: the list of requests does, and shows
// nothing that a stranger has written.
func StrangerAsks(channel string) string {
	return fmt.Sprintf("Somebody asks to be let in on %s. /approve lists who.", channel)
}

// You answers /whoami.
type You struct {
	Name, ID, Username string
	Authority          fmt.Stringer
	Chat               string
	Kind               fmt.Stringer
	Thread             string
	Session            string
}

// WhoAmI shows people how the host identifies them.
func WhoAmI(y You) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**You** are %s\n", Code(y.Name))
	fmt.Fprintf(&b, "\n- id: %s", Code(y.ID))
	if y.Username != "" {
		fmt.Fprintf(&b, "\n- username: %s", Code(y.Username))
	}
	fmt.Fprintf(&b, "\n- you are: %s", y.Authority)
	fmt.Fprintf(&b, "\n- chat: %s, %s", Code(y.Chat), y.Kind)
	if y.Thread != "" {
		fmt.Fprintf(&b, ", thread %s", Code(y.Thread))
	}
	fmt.Fprintf(&b, "\n- session: %s", Code(y.Session))
	return b.String()
}

// Grant is a permission that lasts.
type Grant struct {
	Rule     string // in claude's form; for a single input a digest after "=", and the input
	Audience string // whose messages it applies to
	By       string // who allowed it, as channel:user
	Span     GrantSpan
}

// GrantSpan is how long a grant holds.
type GrantSpan int

// The spans of grants.
const (
	GrantAlways GrantSpan = iota
	GrantInConversation
	GrantOver // its conversation has ended
)

// Answers of /grants.
const (
	GrantsOptions    = "Options: revoke NUMBER, revoke all."
	GrantsNeedNumber = "/grants revoke needs a number of the list, or all."
)

// NoGrant answers /grants revoke with an unknown number.
func NoGrant(number string) string {
	return fmt.Sprintf("There is no number %s. /grants lists them.", Code(number))
}

// GrantRevoked answers /grants revoke with a number.
func GrantRevoked(rule string) string {
	return fmt.Sprintf("Revoked: %s. Claude asks again.", grantRule(rule))
}

// GrantsRevoked answers /grants revoke all.
func GrantsRevoked(n int64) string { return fmt.Sprintf("Revoked: %d. Claude asks again.", n) }

// Grants lists the lasting permissions of a conversation.
func Grants(list []Grant) string {
	if len(list) == 0 {
		return "There are no lasting permissions here."
	}
	var b strings.Builder
	b.WriteString("**What Claude may do here without asking**\n")
	for i, g := range list {
		span := [...]string{"always", "in this conversation", "in a conversation that is over"}[g.Span]
		fmt.Fprintf(&b, "\n%d. %s, %s, for %s (allowed by %s)", i+1, grantRule(g.Rule), span, g.Audience, Code(g.By))
	}
	b.WriteString("\n\n`/grants revoke NUMBER` or `/grants revoke all` revokes them.")
	return b.String()
}

func grantRule(rule string) string {
	if !strings.HasPrefix(rule, "=") {
		return Verbatim(rule)
	}
	_, what, _ := strings.Cut(rule, " ")
	tool, input, _ := strings.Cut(what, " ")
	switch {
	case what == "":
		return "one input of a tool, of which an earlier version kept no details"
	case input == "":
		return "exactly " + tool
	default:
		return "exactly " + tool + " " + Verbatim(input)
	}
}

// What people read while `clawhost init` waits for the owner.
const (
	// BeingSetUp answers a message without the code.
	BeingSetUp = "I am being set up. If I am yours, send me the code that the terminal shows."
	// OwnerNow answers the message with the code.
	OwnerNow = "You are my owner now. The terminal says how to start me; then write to me here."
)
