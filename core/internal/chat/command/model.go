package command

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/domain"
	"github.com/clawhost/clawhost/core/internal/base/lazyregexp"
	"github.com/clawhost/clawhost/core/internal/base/wording"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
)

// cliModels are the CLI's own names of models. The suffix [1m] selects the longer context.
var cliModels = []string{"opus", "sonnet", "haiku", "fable"}

// fullModel matches the full name of an Anthropic model, which the CLI accepts unchanged.
var fullModel = lazyregexp.New(`^claude-[a-z0-9][a-z0-9._@:-]{0,99}(\[1m\])?$`)

// Models are the models that people may choose in addition to the CLI's own.
type Models struct {
	Aliases map[string]string // models by the config's aliases
	Names   []string          // models that the config uses
}

// ModelsOf are those of a config.
func ModelsOf(c *config.Config) Models {
	m := Models{Aliases: c.Agent.Claude.Aliases}
	for _, a := range c.AllAgents() {
		m.Names = append(append(m.Names, a.Claude.Model), a.Claude.FallbackModels...)
	}
	return m
}

// Find returns the model that a word names, in its stored form: an alias as the config spells it, a name, or "default"
// for the config's. False: it is not a model.
func (m Models) Find(word string) (string, bool) {
	word = strings.TrimRight(word, ",;.:!?")
	for alias := range m.Aliases {
		if strings.EqualFold(alias, word) {
			return alias, true
		}
	}
	for _, name := range m.Names {
		if name != "" && strings.EqualFold(name, word) {
			return name, true
		}
	}
	word = strings.ToLower(word)
	switch {
	case word == conversation.DefaultModel, slices.Contains(cliModels, strings.TrimSuffix(word, "[1m]")), fullModel().MatchString(word):
		return word, true
	default:
		return "", false
	}
}

// ResetHint removes the model from the beginning of a conversation's first text: in "opus summarise this" the model is
// opus, and the rest is the text. The model is in the form that a session stores: "" for the config's; nil: the text
// names none.
func (m Models) ResetHint(rest string) (model *string, text string) {
	rest = strings.TrimSpace(rest)
	word := firstWord(rest)
	name, ok := m.Find(word)
	if !ok {
		return nil, rest
	}
	return new(kept(name)), strings.TrimSpace(strings.TrimPrefix(rest, word))
}

// kept is the form in which a session stores a model.
func kept(name string) string {
	if name == conversation.DefaultModel {
		return ""
	}
	return name
}

// ResetHint is [Models.ResetHint] of the registry's models.
func (r *Registry) ResetHint(rest string) (model *string, text string) {
	return r.host.Models.Get().ResetHint(rest)
}

// IsAbort is the function [IsAbort].
func (r *Registry) IsAbort(text string) bool { return IsAbort(text) }

// list returns the names of the models, the config's own first.
func (m Models) list() []string {
	names := slices.Sorted(maps.Keys(m.Aliases))
	for _, name := range slices.Concat(m.Names, cliModels) {
		if name != "" && !slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			names = append(names, name)
		}
	}
	return names
}

func (m Models) options() string {
	return wording.ModelOptions(append(m.list(), conversation.DefaultModel))
}

// readModel is the directive /model. Within a text, "default" is a model like others: the config's.
func readModel(m Models, words []string) reading {
	if len(words) == 0 {
		return reading{}
	}
	r := reading{words: 1, args: words[0]}
	if name, ok := m.Find(words[0]); ok {
		r.args = name
		r.set = func(o *domain.Overrides) { o.Model = name }
	}
	return r
}

// model shows the session's model, or changes it.
func (d hostCommands) model(ctx context.Context, call Call) (string, error) {
	models := d.host.Models.Get()
	if call.Args == "" {
		return wording.ModelIs(d.effective(call).Model, models.options()), nil
	}
	name, ok := models.Find(call.Args)
	if !ok {
		return wording.UnknownArgument("model", call.Args, models.options()), nil
	}
	session, err := d.store.Configure(ctx, call.Caller.Session, func(o *domain.Overrides) { o.Model = kept(name) })
	if err != nil {
		return "", err
	}
	now := wording.ModelName(d.host.Conversations.Session(call.Caller, session).Model)
	if now != wording.ModelName(d.effective(call).Model) {
		if err := d.tell(ctx, call, "Model switched to "+now+"."); err != nil {
			return "", err
		}
	}
	return wording.ModelChosen(now, name == conversation.DefaultModel), nil
}

// models lists the models.
func (d hostCommands) models(_ context.Context, call Call) (string, error) {
	var list []wording.Model
	models := d.host.Models.Get()
	for _, name := range models.list() {
		list = append(list, wording.Model{Name: name, Alias: models.Aliases[name]})
	}
	return wording.Models(list, d.effective(call).Model), nil
}
