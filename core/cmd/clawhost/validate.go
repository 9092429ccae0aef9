package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/clawhost/clawhost/core"
	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/operate/doctor"
)

// verdict is what `clawhost validate -json` prints.
type verdict struct {
	OK            bool            `json:"ok"`
	Problems      config.Problems `json:"problems"`
	Warnings      []string        `json:"warnings,omitempty"`
	Transcription string          `json:"transcription,omitempty"` // how voice messages are transcribed, if the config can be read
}

// validate checks the config file and, by the plugins' schemas, the plugins' own configs.
func (a *app) validate(ctx context.Context, args []string) error {
	switch {
	case len(args) > 1, len(args) == 1 && a.config != "":
		return usage("validate takes one file")
	case len(args) == 1:
		a.config = args[0]
	}
	o, err := a.examination(ctx)
	if err != nil {
		return err
	}
	found, err := doctor.Check(ctx, o)
	if err != nil {
		return err
	}
	v := judge(found, o.Config)
	switch {
	case a.json:
		if err := a.print(v); err != nil || v.OK {
			return err
		}
		return errSaid
	case !v.OK:
		return v.Problems
	}
	fmt.Fprintf(a.out, "%s is good.\n%s%s.\n", o.Path, strings.ToUpper(v.Transcription[:1]), v.Transcription[1:])
	for _, warning := range v.Warnings {
		fmt.Fprintln(a.out, "Warning:", visible(warning))
	}
	return nil
}

// judge sorts what was found. The config is nil if it cannot be read.
func judge(found []doctor.Finding, c *config.Config) verdict {
	v := verdict{Problems: config.Problems{}}
	for _, f := range found {
		switch {
		case f.Severity == doctor.Error && f.Problem != nil:
			v.Problems = append(v.Problems, *f.Problem)
		case f.Severity == doctor.Error:
			v.Problems = append(v.Problems, config.Problem{Summary: f.Text, Detail: f.Advice})
		case f.Severity == doctor.Warning:
			v.Warnings = append(v.Warnings, strings.TrimSuffix(f.Text+". "+f.Advice, ". "))
		}
	}
	v.OK = len(v.Problems) == 0
	if c == nil {
		return v
	}
	for _, agentConfig := range c.AllAgents() {
		for _, problem := range agent.SkillProblems(agentConfig.Workspace) {
			v.Warnings = append(v.Warnings, problem.Error())
		}
	}
	v.Transcription = core.Transcription(c)
	return v
}
