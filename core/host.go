// Package core is the host: it constructs the packages of clawhost and runs them in order.
package core

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/clawhost/clawhost/core/internal/base/agent"
	"github.com/clawhost/clawhost/core/internal/base/config"
	"github.com/clawhost/clawhost/core/internal/base/health"
	"github.com/clawhost/clawhost/core/internal/base/loglevel"
	"github.com/clawhost/clawhost/core/internal/base/metrics"
	"github.com/clawhost/clawhost/core/internal/base/process"
	"github.com/clawhost/clawhost/core/internal/base/recentlog"
	"github.com/clawhost/clawhost/core/internal/base/trace"
	"github.com/clawhost/clawhost/core/internal/chat/activity"
	"github.com/clawhost/clawhost/core/internal/chat/command"
	"github.com/clawhost/clawhost/core/internal/chat/debounce"
	"github.com/clawhost/clawhost/core/internal/chat/early"
	"github.com/clawhost/clawhost/core/internal/chat/heartbeat"
	"github.com/clawhost/clawhost/core/internal/chat/inbox"
	"github.com/clawhost/clawhost/core/internal/chat/outbox"
	"github.com/clawhost/clawhost/core/internal/chat/permission"
	"github.com/clawhost/clawhost/core/internal/chat/posting"
	"github.com/clawhost/clawhost/core/internal/chat/prompt"
	"github.com/clawhost/clawhost/core/internal/chat/spending"
	"github.com/clawhost/clawhost/core/internal/chat/turn"
	"github.com/clawhost/clawhost/core/internal/chat/view"
	"github.com/clawhost/clawhost/core/internal/claude"
	"github.com/clawhost/clawhost/core/internal/claude/cli"
	"github.com/clawhost/clawhost/core/internal/claude/credential"
	"github.com/clawhost/clawhost/core/internal/claude/equip"
	"github.com/clawhost/clawhost/core/internal/claude/jobs"
	"github.com/clawhost/clawhost/core/internal/claude/project"
	"github.com/clawhost/clawhost/core/internal/claude/sessions"
	"github.com/clawhost/clawhost/core/internal/claude/tools"
	"github.com/clawhost/clawhost/core/internal/claude/worktree"
	"github.com/clawhost/clawhost/core/internal/dispatch"
	"github.com/clawhost/clawhost/core/internal/fleet"
	"github.com/clawhost/clawhost/core/internal/media/files"
	"github.com/clawhost/clawhost/core/internal/network/conversation"
	"github.com/clawhost/clawhost/core/internal/network/hook"
	"github.com/clawhost/clawhost/core/internal/network/plugins"
	"github.com/clawhost/clawhost/core/internal/network/reaction"
	"github.com/clawhost/clawhost/core/internal/network/relay"
	"github.com/clawhost/clawhost/core/internal/network/supervisor"
	"github.com/clawhost/clawhost/core/internal/network/wakeup"
	"github.com/clawhost/clawhost/core/internal/notice"
	"github.com/clawhost/clawhost/core/internal/operate/admin"
	"github.com/clawhost/clawhost/core/internal/operate/backup"
	"github.com/clawhost/clawhost/core/internal/operate/banner"
	"github.com/clawhost/clawhost/core/internal/operate/claims"
	"github.com/clawhost/clawhost/core/internal/operate/exposition"
	"github.com/clawhost/clawhost/core/internal/operate/gateway"
	"github.com/clawhost/clawhost/core/internal/operate/hostapi"
	"github.com/clawhost/clawhost/core/internal/operate/reload"
	"github.com/clawhost/clawhost/core/internal/operate/systemd"
	"github.com/clawhost/clawhost/core/internal/store"
	"github.com/clawhost/clawhost/docs"
)

// asRoot is what the log says at the start of a host that runs as root.
const asRoot = "the host runs as root: all that Claude is allowed to run is run as root, and no secret of the host is hidden from it; " +
	"give the host a user of its own"

const (
	// settleTime is how long the host waits for its plugins at the start. Slower ones join later.
	settleTime = 3 * time.Second
	// turnGrace, deliveryGrace and pluginGrace are how long each layer may take to finish when the host shuts down.
	turnGrace     = 10 * time.Second
	deliveryGrace = 5 * time.Second
	pluginGrace   = 5 * time.Second
	// commands is the number of the host's commands that run at the same time, and of plugins' commands.
	commands = 16
)

// ErrRestart is returned by Run after a restart was requested: the host has shut down in order and must be run again.
var ErrRestart = errors.New("the host is to be restarted")

// Options are a host's settings.
type Options struct {
	Config  *config.Config
	Version string
	// Demo is the path of the claude stand-in that answers; empty: the configured claude does.
	Demo   string
	Log    hclog.Logger
	Levels *loglevel.Levels // of Log; nil: they stay
	Recent *recentlog.Log   // what Log writes to
	Source Source           // nil: the config stays, and the host cannot be restarted
	// Children start the host's processes; nil: processes that leave their trees are not adopted.
	Children *process.Children
	// Out is where the host prints its banner, with the links of its channels, which must not be logged.
	Out io.Writer
}

// Source reads the host's config again.
type Source interface {
	reload.Source
	// Recheck returns the reason why a new host could not start.
	Recheck(ctx context.Context) error
}

// Host is a running clawhost.
type Host struct {
	config  *config.Config  // at the start; what a reload may change is read from current
	current *config.Current // the same, as it is now
	options Options
	log     hclog.Logger
	started time.Time
	closing chan struct{} // closed when no more events are accepted
	restart *restart
	family  *process.Family

	metrics       *metrics.Metrics // nil: off
	tracer        *trace.Tracer    // nil: off
	store         *store.Store
	fleet         *fleet.Fleet
	media         attachments
	keys          credential.Proxies
	claude        *claude.Pool
	prompters     *config.Derived[map[string]*agent.Prompter] // by the agent's label
	prompts       *prompt.Builder
	projects      map[string]*project.Folder
	compaction    map[string]agent.Compaction
	commands      *command.Registry
	questions     *permission.Approvals
	intake        *inbox.Intake
	debounce      *debounce.Judge
	early         *early.Starter
	inbox         *inbox.Inbox
	tools         *tools.Server
	chats         *activity.Chats
	reactor       *reaction.Reactor
	observers     *hook.Observers
	followers     *hook.Followers
	supervisor    *supervisor.Supervisor
	plugins       *plugins.Registry
	owners        *notice.Owners
	outages       *turn.Outages
	health        *health.Registry
	conversations *conversation.Resolver
	budgets       *spending.Budgets
	worktrees     *worktree.Worktrees
	jobs          *jobs.Jobs
	dispatcher    *dispatch.Dispatcher
	handler       *turn.Handler
	api           *hostapi.API
	outbox        *outbox.Outbox
	banner        *banner.Banner
	service       *systemd.Service
	reloader      *reload.Reloader
	admin         *admin.Server
}

// New opens the host's state and constructs the host. Without Run, call Close to release the state.
func New(ctx context.Context, options Options) (_ *Host, err error) {
	h := &Host{
		config: options.Config, options: options, log: options.Log, started: time.Now(), closing: make(chan struct{}),
		restart: &restart{options.Source, make(chan struct{}, 1)}, family: cli.NewFamily(options.Children),
	}
	if err := errors.Join(backup.Resume(ctx, h.config.StateDir), h.folders()); err != nil {
		return nil, err
	}
	h.current = config.NewCurrent(h.config, os.Geteuid() == 0, h.options.Demo != "")
	h.metrics = exposition.Metrics(h.current)
	h.tracer = trace.New(trace.Options{
		Endpoint: h.config.Telemetry.Traces, Share: h.config.Telemetry.Sample, Version: h.options.Version, Metrics: h.metrics,
	}, h.log.Named("trace"))
	if h.store, h.fleet, err = fleet.Open(ctx, h.current, h.options.Version, h.metrics, h.log.Named("fleet")); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.keys.Close(), h.fleet.Leave(ctx), h.store.Close())
		}
	}()
	if err := errors.Join(h.runFolder(), h.override(ctx)); err != nil {
		return nil, err
	}
	h.dispatcher = dispatch.New(h.store, dispatch.Options{
		Turns: h.config.Processes.Max, Commands: commands, Owners: len(h.config.Access.Owners) > 0, Grace: turnGrace, Fleet: h.fleet,
	}, h.log.Named("dispatch"))
	h.plugins = plugins.New(h.current.Get().Plugins)
	h.supervisor = supervisor.New(supervisor.Options{
		Plugins: h.plugins, HostVersion: h.options.Version,
		StateDir: h.config.StateDir, Workspace: h.config.Agent.Workspace, Demo: h.options.Demo != "", SocketDir: supervisor.SocketDir(h.runDir()),
		Processes: h.store, Children: h.options.Children, Fleet: h.fleet, Calls: h.store, Grace: pluginGrace, TraceShare: h.tracer.Share(),
	}, h.log)
	h.conversations = conversation.NewResolver(h.current, h.plugins, h.store)
	h.chats = activity.NewChats(h.plugins, h.store)
	h.owners = notice.NewOwners(h.store, h.conversations, h.plugins, h.log.Named("owners"))
	processes, err := h.claudeConfig()
	if err != nil {
		return nil, err
	}
	h.claude, err = claude.New(processes, h.log.Named("claude"), h.store)
	if err != nil {
		return nil, err
	}
	h.intake = inbox.NewIntake(h.store, h.claude, h.conversations, time.Now, h.log.Named("inbox"))
	h.questions = permission.New(permission.Options{
		Store: h.store, Dispatcher: h.dispatcher,
		Conversations: h.conversations, Owners: h.owners, Chats: h.chats, Intake: h.intake,
	}, h.log.Named("permission"))
	h.outages = turn.NewOutages()
	h.health = health.New(h.store, h.outages, h.claude, h.plugins, h.current)
	h.wire()
	return h, nil
}

// folders creates the host's folders, closed to other users.
func (h *Host) folders() error {
	for _, dir := range []string{h.config.StateDir, h.mediaDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return config.Problems{h.config.NoState(err)}
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			return fmt.Errorf("close the state folder to others: %w", err)
		}
	}
	for _, a := range h.config.AllAgents() {
		if err := agent.Bootstrap(a.Workspace); err != nil {
			return fmt.Errorf("make the workspace of agent %s: %w", a.Label, err)
		}
	}
	return nil
}

// override applies what owners have set by /config set.
func (h *Host) override(ctx context.Context) (err error) {
	if h.options.Source != nil {
		if h.config, err = reload.Read(ctx, h.options.Source, h.store, h.options.Levels, h.log); err != nil {
			return err
		}
		h.current.Replace(h.config)
	}
	return nil
}

// Reload reads the config again and applies what has changed; see [reload.Reloader.Reload]. The log has the result.
func (h *Host) Reload(ctx context.Context, by string) { _, _ = h.reloader.Reload(ctx, by) }

// runFolder creates the folder for this process's temporary files, without those of the previous process. The store is
// open, so no other host uses it.
func (h *Host) runFolder() error {
	if err := os.RemoveAll(h.runDir()); err != nil {
		return fmt.Errorf("clear the run folder: %w", err)
	}
	if err := os.Mkdir(h.runDir(), 0o700); err != nil {
		return fmt.Errorf("make the run folder: %w", err)
	}
	return nil
}

func (h *Host) runDir() string { return filepath.Join(h.config.StateDir, "run") }

// wire constructs what New has not yet, in the order of dependencies.
func (h *Host) wire() {
	h.media = newAttachments(h.config, h.store, h.plugins, h.mediaDir(), h.runDir(), h.family, h.log.Named("media"))
	h.agents()
	var pictures *files.Store
	if h.config.Media.InlineImages {
		pictures = h.media.files
	}
	h.prompts = prompt.New(prompt.Options{
		System: h.prompters, Bringer: h.media.bringer, Reader: h.media.reader, Inbound: h.media.inbound, Pictures: pictures, Outgoing: h.media.outgoing, Channels: h.plugins,
	}, h.log.Named("prompt"))
	h.jobs = jobs.New(jobs.Options{
		Config: h.current, Folder: filepath.Join(h.config.StateDir, jobs.Folder), Family: h.family, Store: h.store, Intake: h.intake, Program: process.Self(),
	}, h.log.Named("jobs"))
	h.tools = tools.New(tools.Options{
		Version: h.options.Version, Plugins: h.plugins, Store: h.store, Conversations: h.conversations, Intake: h.intake, Files: h.media.files,
		Manual: docs.Pages, Jobs: h.jobs, Zone: h.config.Agent.Timezone, Metrics: h.metrics,
	}, h.log.Named("tools"))
	h.worktrees = worktree.New(h.current, h.claude, h.store, h.log.Named("worktree"))
	h.budgets = spending.New(h.current, h.store, h.conversations)
	h.debounce = debounce.New()
	h.service = systemd.New(systemd.Options{Store: h.store, Dispatcher: h.dispatcher, Plugins: h.plugins, Health: h.health}, h.log.Named("systemd"))
	h.reloader = reload.New(h.current, reload.Options{
		Source: h.options.Source, Store: h.store, Plugins: h.plugins, Supervisor: h.supervisor, Manager: h.service, Levels: h.options.Levels,
	}, h.log.Named("reload"))
	h.commands = h.registry()
	h.observers = hook.NewObservers(h.plugins, h.log.Named("hook"))
	h.reactor = reaction.New(h.store, h.plugins, h.log.Named("reaction"))
	agents := equip.New(equip.Options{Pool: h.claude, Tools: h.tools, Projects: h.projects, Demo: h.options.Demo != ""})
	h.early = early.New(early.Options{
		Store: h.store, Conversations: h.conversations, Prompts: h.prompts, Tools: h.tools, Claude: agents, Worktrees: h.worktrees,
	}, h.log.Named("early"))
	h.inbox = inbox.New(h.intake, inbox.Options{
		Commands: h.commands, Questions: h.questions, Observers: h.observers, Reactions: h.reactor, Chats: h.chats, Owners: h.owners, Early: h.early, Debounce: h.debounce, Turns: h.dispatcher, Sessions: sessions.New(h.claude, h.store), Zone: h.config.Agent.Timezone, Metrics: h.metrics,
	})
	programs := gateway.New(gateway.Options{
		Store: h.store, Conversations: h.conversations, Files: h.media.files, Plugins: h.plugins,
		Intake: h.intake, Dispatcher: h.dispatcher, Commands: h.commands, Closing: h.closing,
	}, h.log.Named("gateway"))
	h.api = hostapi.New(hostapi.Options{
		Inbox: h.inbox, Gateway: programs, Store: h.store, Plugins: h.plugins, Files: h.media.files, Closing: h.closing, Tracer: h.tracer,
	}, h.log.Named("hostapi"))
	h.followers = hook.NewFollowers(h.store, h.plugins, h.fleet, h.log.Named("hook"))
	views := view.New(view.Options{
		Store: h.store, Plugins: h.plugins, Chats: h.chats, Conversations: h.conversations,
		Files: h.media.outgoing, Speaker: h.media.speaker, Programs: programs, Metrics: h.metrics,
	}, h.log.Named("view"))
	poster := posting.New(posting.Options{
		Store: h.store, Plugins: h.plugins, Chats: h.chats, Conversations: h.conversations,
		Intake: h.intake, Files: h.media.outgoing,
	}, h.log.Named("posting"))
	h.handler = turn.New(turn.Options{
		Store: h.store, Conversations: h.conversations, Commands: h.commands, Hooks: hook.New(h.plugins, h.metrics, h.log.Named("hook")), Prompts: h.prompts,
		Claude: agents, Views: views, Tools: h.tools, Poster: poster,
		Questions: h.questions, Files: h.media.outgoing, Programs: programs, Owners: h.owners, Outages: h.outages, Plugins: h.plugins, Budgets: h.budgets, Worktrees: h.worktrees,
		Compaction: h.compaction, Zone: h.config.Agent.Timezone, Metrics: h.metrics, Tracer: h.tracer,
	}, h.log.Named("turn"))
	h.outbox = outbox.New(h.store, outbox.Options{
		Plugins: h.plugins, Config: h.current, Grace: deliveryGrace, Fleet: h.fleet,
		Conversations: h.conversations, Chats: h.chats, Metrics: h.metrics, Tracer: h.tracer,
	}, h.log.Named("outbox"))
	report := admin.Host{
		Version: h.options.Version, Started: h.started, Demo: h.options.Demo != "",
		Config: h.current, Dispatcher: h.dispatcher, Fleet: h.fleet, Claude: h.claude, Plugins: h.plugins, Approvals: h.questions, Health: h.health, Views: views,
	}
	h.banner = banner.New(h.options.Out, report)
	h.admin = admin.New(admin.Options{
		Socket: h.config.Socket(), Remote: admin.Remote(h.config.Admin), Store: h.store, Plugins: h.supervisor,
		Gateway: programs, Peers: admin.Descendants{}, Log: h.options.Recent, Host: report, Reloader: h.reloader,
		Metrics: exposition.New(exposition.Options{
			Metrics: h.metrics, Version: h.options.Version, StateDir: h.config.StateDir, Places: h.config.Processes.Max,
			Store: h.store, Dispatcher: h.dispatcher, Claude: h.claude, Plugins: h.plugins, Approvals: h.questions, Health: h.health,
		}, h.log.Named("metrics")),
	}, h.log.Named("admin"))
}

// Run works until ctx ends, then shuts down in order: no more events are accepted, turns finish, answers are delivered,
// plugins drain. The next process continues what cannot finish in time.
func (h *Host) Run(ctx context.Context) (err error) {
	work := context.WithoutCancel(ctx)
	defer func() {
		h.end("claude", func() { err = errors.Join(err, h.Close(work)) })
		h.log.Info("stopped", "ran", time.Since(h.started).Round(time.Second))
	}()
	if os.Geteuid() == 0 {
		h.log.Warn(asRoot)
	}
	for _, warning := range h.config.Warnings(os.Geteuid() == 0, h.options.Demo != "") {
		h.log.Warn(warning)
	}
	h.log.Info(h.media.transcriber.String())
	if err := h.recover(ctx); err != nil {
		return err
	}

	defer h.end("the fleet", start(work, h.fleet.Run))
	failed := make(chan error, 1)
	defer h.end("traces", start(work, h.tracer.Run))
	control := start(work, func(ctx context.Context) {
		if err := h.admin.Run(ctx); err != nil {
			failed <- err
		}
	})
	defer h.end("the control socket", control)
	processes := start(work, func(ctx context.Context) {
		h.supervisor.Run(ctx, forPlugins{h.api, claims.New(h.current, h.commands, h.supervisor), h.banner})
	})
	defer h.end("plugins", processes)
	for _, job := range []func(context.Context){
		h.upkeep, h.store.FollowMoves, h.early.Run, h.jobs.Run, h.claude.Inspect, h.observers.Run, h.followers.Run, h.reactor.Run,
		command.NewMenus(h.plugins, h.commands, h.log).Run, relay.New(h.store, h.plugins, h.fleet, h.log.Named("relay")).Run,
		func(ctx context.Context) { h.owners.Crowding(ctx, h.media.crowded) },
		func(ctx context.Context) { h.owners.Problems(ctx, h.health) },
		notice.NewHeld(h.store, h.dispatcher, h.conversations, h.log).Run,
		func(ctx context.Context) { wakeup.Run(ctx, h.store, h.plugins, h.fleet, h.log.Named("wakeup")) },
	} {
		defer h.end("background jobs", start(work, job))
	}
	h.settle(ctx)
	defer h.end("deliveries", start(work, h.outbox.Run))
	defer h.end("typing signals", h.chats.Wait)
	defer h.end("turns", start(work, func(ctx context.Context) { h.dispatcher.Run(ctx, h.handler) }))
	defer h.end("the heartbeats", start(work, func(ctx context.Context) {
		h.fleet.Only(ctx, "heartbeats", func(ctx context.Context) { heartbeat.Run(ctx, h.current, h.store, h.intake, h.log.Named("heartbeat")) })
	}))
	defer close(h.closing)
	h.log.Info("ready", "version", h.options.Version, "took", time.Since(h.started).Round(time.Millisecond))
	defer start(work, h.banner.Show)()
	defer start(work, h.inbox.Resume)()
	defer start(work, h.service.Run)()
	if h.options.Source != nil {
		defer start(work, h.reloader.Watch)()
	}

	select {
	case <-ctx.Done():
		h.log.Info("shutting down: " + systemd.Reason(context.Cause(ctx)))
		h.service.Stop()
		return nil
	case <-h.fleet.Context().Done():
		h.log.Error("starting again, because other hosts may do now what this one did")
		return ErrRestart
	case <-h.restart.wanted:
		h.log.Info("shutting down for a restart")
		return ErrRestart
	case err := <-failed:
		return err
	}
}

// Close releases what New opened. Run calls it.
func (h *Host) Close(ctx context.Context) error {
	return errors.Join(h.claude.Close(ctx), h.keys.Close(), h.fleet.Leave(ctx), h.store.Close())
}

// recover ends what the previous process left running and resumes what it left undone.
func (h *Host) recover(ctx context.Context) error {
	left, err := h.store.Processes(ctx)
	if err != nil {
		return fmt.Errorf("look for processes of the previous process: %w", err)
	}
	agents := supervisor.Reap(ctx, left, h.store, h.log)
	cli.Reap(ctx, agents, h.store, h.log.Named("claude"))
	runs, deliveries, err := h.store.Reclaim(ctx)
	if err != nil {
		return fmt.Errorf("take up what was left undone: %w", err)
	}
	if runs > 0 || deliveries > 0 {
		h.log.Info("resuming the work of the previous process", "turns", runs, "deliveries", deliveries)
	}
	if err := h.questions.Recover(ctx); err != nil {
		return fmt.Errorf("end the questions of the previous process: %w", err)
	}
	return nil
}

// settle waits for the plugins, so that recovered turns find their hooks.
func (h *Host) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := h.supervisor.Settled(ctx); err != nil {
		h.log.Warn("some plugins are not up yet; starting without them")
	}
}

// forPlugins is the host's side of plugins.
type forPlugins struct {
	*hostapi.API
	*claims.Claims
	*banner.Banner
}
