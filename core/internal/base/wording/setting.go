package wording

import (
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/domain"
)

// ClaudesChoice is shown for a model or effort that is not set.
const ClaudesChoice = "Claude's choice"

// ModelOptions lists the values of /model.
func ModelOptions(names []string) string {
	return "Options: " + strings.Join(names, ", ") + ", or a full name such as claude-opus-4-8."
}

// ModelIs answers /model.
func ModelIs(model, options string) string {
	return fmt.Sprintf("The model is %s. %s", ModelName(model), options)
}

// ModelChosen answers /model with a name; configs means that the config's model is chosen again.
func ModelChosen(model string, configs bool) string {
	if configs {
		return fmt.Sprintf("The model is the config's again: %s.", ModelName(model))
	}
	return fmt.Sprintf("The model is now %s.", ModelName(model))
}

// Model is a model that may be chosen.
type Model struct {
	Name  string
	Alias string // its alias; empty: none
}

// Models lists the models, for /models.
func Models(list []Model, current string) string {
	var b strings.Builder
	b.WriteString("**Models**\n")
	for _, m := range list {
		fmt.Fprintf(&b, "\n- %s", Code(m.Name))
		if m.Alias != "" {
			fmt.Fprintf(&b, ": %s", Code(m.Alias))
		}
	}
	fmt.Fprintf(&b, "\n\nThis conversation uses %s. `/model NAME` changes that, `/model default` undoes it.", ModelName(current))
	return b.String()
}

// settingTitle is the title of a setting, by the name of its command.
func settingTitle(setting string) string {
	switch setting {
	case "think":
		return "Thinking effort"
	case "fast":
		return "Fast mode"
	case "verbose":
		return "Tool display"
	case "reasoning":
		return "Reasoning display"
	case "elevated", "exec":
		return "Permission mode"
	case "usage":
		return "Usage footer"
	case "send":
		return "Sending"
	case "activation":
		return "Activation"
	case "tts":
		return "Speech"
	default:
		return setting
	}
}

// settingMeans explains a setting's value; empty if it is obvious.
func settingMeans(setting, value string) string {
	switch setting {
	case "elevated", "exec":
		return permissionModeMeans(value)
	case "think":
		if value == "off" {
			return "the model does not think before it answers, if it supports that"
		}
	case "fast":
		if value == "on" {
			return "the model answers faster and costs more, if it has a fast mode"
		}
	case "send":
		switch value {
		case "allow":
			return "messages here are answered"
		case "deny":
			return "messages here are kept and not answered; commands still work"
		}
	case "activation":
		switch value {
		case "mention":
			return "I answer messages that are addressed to me"
		case "always":
			return "I read every message"
		}
	case "tts":
		switch value {
		case "off":
			return "I answer in writing only"
		case "inbound":
			return "I also speak my answers to voice messages"
		case "always":
			return "I also speak every answer"
		case "tagged":
			return "I also speak where I choose to"
		}
	}
	return ""
}

// AlwaysThinks follows the answer to /think off if the model cannot answer without thinking.
func AlwaysThinks(model string) string {
	return fmt.Sprintf("%s always thinks, so it gets the lowest effort instead.", ModelName(model))
}

// NotFast follows the answer to /fast on if the model has no fast mode.
func NotFast(model string) string {
	return fmt.Sprintf("%s has no fast mode, so nothing changes until another model is chosen.", ModelName(model))
}

func permissionModeMeans(mode string) string {
	switch mode {
	case "default":
		return "tools ask for permission first"
	case "acceptEdits":
		return "files are edited without asking"
	case "plan":
		return "nothing is changed"
	case "dontAsk":
		return "tools that need permission are refused"
	case "bypassPermissions":
		return "every tool runs without asking"
	default:
		return ""
	}
}

// settingLimits describes where a chosen value applies, or warns of it; it may be empty.
func settingLimits(setting, value string) string {
	switch {
	case setting != "elevated" && setting != "exec":
		return ""
	case value == "bypassPermissions":
		return " **Claude runs every command at once, including those that delete or send something,** in the turns that owners begin in this conversation. Each of them says so at its start. `/elevated ask` has Claude ask again."
	default:
		return " It holds for what owners write."
	}
}

func settingValue(setting, word, value string) string {
	word = or(word, ClaudesChoice)
	if means := settingMeans(setting, value); means != "" {
		return fmt.Sprintf("%s (%s)", word, means)
	}
	return word
}

// SettingOptions lists the values of a setting's command.
func SettingOptions(words []string) string { return "Options: " + strings.Join(words, ", ") + "." }

// SettingIs answers a setting's command: its value, the word shown for it, and the accepted values.
func SettingIs(setting, word, value, options string) string {
	return fmt.Sprintf("%s is %s. %s", settingTitle(setting), settingValue(setting, word, value), options)
}

// SettingChosen answers a new value; configs means that the config's value applies again.
func SettingChosen(setting, word, value string, configs bool) string {
	if configs {
		return fmt.Sprintf("%s is the config's again: %s.", settingTitle(setting), settingValue(setting, word, value))
	}
	return fmt.Sprintf("%s is now %s.%s", settingTitle(setting), settingValue(setting, word, value), settingLimits(setting, value))
}

// Answers of the settings' commands.
const (
	ActivationInDirect = "/activation is for groups. In a direct chat I answer every message."
	NoSpeech           = "I answer in writing only: the config names no command that speaks (`media.speak`)."
)

// QueueOptions lists the values of /queue.
func QueueOptions() string {
	drops := domain.Drops()
	last := len(drops) - 1
	return fmt.Sprintf("Options: %s; debounce:0.5s, cap:20 (1 to %d), drop:%s or %s; default.",
		strings.Join(domain.Modes(), ", "), domain.MaxCap, strings.Join(drops[:last], ", "), drops[last])
}

// queueing describes a queue's settings.
func queueing(q domain.Queueing) string {
	limit := "none"
	if q.Cap > 0 {
		limit = fmt.Sprint(q.Cap)
	}
	return fmt.Sprintf("mode=%s, debounce=%s, cap=%s, drop=%s", or(string(q.Mode), string(domain.Followup)), q.Quiet, limit,
		or(string(q.Drop), string(domain.DropSummarize)))
}

// QueueChosen answers /queue with a setting.
func QueueChosen(q domain.Queueing, configs bool) string {
	if configs {
		return fmt.Sprintf("The queue settings are the config's again: %s.", queueing(q))
	}
	return fmt.Sprintf("Queue settings are now: %s.", queueing(q))
}
