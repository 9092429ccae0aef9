// Package loglevel filters the log by the level of each component, which may change while the host runs.
package loglevel

import (
	"strings"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"
)

// Levels are the least severe levels that are logged. They are safe for concurrent use.
type Levels struct{ now atomic.Pointer[levels] }

// levels do not change.
type levels struct {
	all hclog.Level
	of  map[string]hclog.Level
}

// New returns the levels of [Levels.Set].
func New(all string, of map[string]string) *Levels {
	l := &Levels{}
	l.Set(all, of)
	return l
}

// Set makes all the level of the log, except for the components in of: the names of loggers below the first one, such as telegram or
// turn. A name also stands for the loggers below it.
func (l *Levels) Set(all string, of map[string]string) {
	next := &levels{hclog.LevelFromString(all), map[string]hclog.Level{}}
	for component, level := range of {
		next.of[component] = hclog.LevelFromString(level)
	}
	l.now.Store(next)
}

// level returns the level of a component: that of the longest beginning of its name.
func (l *levels) level(component string) hclog.Level {
	for name := component; name != ""; {
		if level, ok := l.of[name]; ok {
			return level
		}
		name = name[:max(strings.LastIndexByte(name, '.'), 0)]
	}
	return l.all
}

// Logger returns a logger that logs to another one, whose own level must let everything through, what the levels let through.
func (l *Levels) Logger(under hclog.Logger) hclog.Logger { return l.logger(under) }

func (l *Levels) logger(under hclog.Logger) *logger {
	_, component, _ := strings.Cut(under.Name(), ".")
	return &logger{Logger: under, levels: l, component: component}
}

// logger is a logger of one component.
type logger struct {
	hclog.Logger
	levels    *Levels
	component string
	known     atomic.Pointer[known]
}

// known is the level that was found.
type known struct {
	in    *levels
	level hclog.Level
}

// GetLevel implements [hclog.Logger].
func (l *logger) GetLevel() hclog.Level {
	now := l.levels.now.Load()
	if k := l.known.Load(); k != nil && k.in == now {
		return k.level
	}
	level := now.level(l.component)
	l.known.Store(&known{now, level})
	return level
}

func (l *logger) logs(level hclog.Level) bool { return level >= l.GetLevel() }

// SetLevel does nothing: [Levels.Set] does.
func (l *logger) SetLevel(hclog.Level) {}

// Log implements [hclog.Logger].
func (l *logger) Log(level hclog.Level, msg string, args ...any) {
	if l.logs(level) {
		l.Logger.Log(level, msg, args...)
	}
}

// Trace implements [hclog.Logger].
func (l *logger) Trace(msg string, args ...any) { l.Log(hclog.Trace, msg, args...) }

// Debug implements [hclog.Logger].
func (l *logger) Debug(msg string, args ...any) { l.Log(hclog.Debug, msg, args...) }

// Info implements [hclog.Logger].
func (l *logger) Info(msg string, args ...any) { l.Log(hclog.Info, msg, args...) }

// Warn implements [hclog.Logger].
func (l *logger) Warn(msg string, args ...any) { l.Log(hclog.Warn, msg, args...) }

// Error implements [hclog.Logger].
func (l *logger) Error(msg string, args ...any) { l.Log(hclog.Error, msg, args...) }

// IsTrace implements [hclog.Logger].
func (l *logger) IsTrace() bool { return l.logs(hclog.Trace) }

// IsDebug implements [hclog.Logger].
func (l *logger) IsDebug() bool { return l.logs(hclog.Debug) }

// IsInfo implements [hclog.Logger].
func (l *logger) IsInfo() bool { return l.logs(hclog.Info) }

// IsWarn implements [hclog.Logger].
func (l *logger) IsWarn() bool { return l.logs(hclog.Warn) }

// IsError implements [hclog.Logger].
func (l *logger) IsError() bool { return l.logs(hclog.Error) }

// With implements [hclog.Logger].
func (l *logger) With(args ...any) hclog.Logger { return l.levels.logger(l.Logger.With(args...)) }

// Named implements [hclog.Logger].
func (l *logger) Named(name string) hclog.Logger { return l.levels.logger(l.Logger.Named(name)) }

// ResetNamed implements [hclog.Logger].
func (l *logger) ResetNamed(name string) hclog.Logger {
	return l.levels.logger(l.Logger.ResetNamed(name))
}
