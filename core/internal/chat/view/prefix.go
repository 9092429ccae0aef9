package view

import "github.com/clawhost/clawhost/core/internal/text/answer"

// speaker describes the author of an answer, as far as a prefix may name it.
type speaker struct {
	Model   string // as configured, or as the session has it
	Effort  string // how hard it thinks
	Name    string // the agent's
	Channel string
}

// provider is who serves the models.
const provider = "anthropic"

// prefix fills in the variables of a prefix: {model}, {modelFull}, {provider}, {think} or {thinkingLevel}, {name},
// {identity.name} or {identityName}, and {channel}. An unknown one stays as written.
func prefix(template string, s speaker) string {
	values := map[string]string{
		"model": s.Model, "provider": provider,
		"think": s.Effort, "thinkinglevel": s.Effort,
		"name": s.Name, "identity.name": s.Name, "identityname": s.Name,
		"channel": s.Channel,
	}
	if s.Model != "" {
		values["modelfull"] = provider + "/" + s.Model
	}
	return answer.Expand(template, values)
}
