package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/clawhost/clawhost/sdk/chat"
	"github.com/clawhost/clawhost/sdk/handshake"
	"github.com/clawhost/clawhost/sdk/internal/serving"
	"github.com/clawhost/clawhost/sdk/pluginv1"
	"github.com/clawhost/clawhost/sdk/wire"
)

// defaultGrace limits Shutdown if the host specifies no time.
const defaultGrace = 5 * time.Second

type pluginServer struct {
	pluginv1.UnimplementedPluginServer
	*plugin

	dial serving.Dial
}

// Describe answers from what newPlugin put together.
func (s *pluginServer) Describe(context.Context, *pluginv1.DescribeRequest) (*pluginv1.DescribeResponse, error) {
	return s.description, nil
}

// CheckConfig calls the config's own check, if it has one.
func (s *pluginServer) CheckConfig(_ context.Context, r *pluginv1.CheckConfigRequest) (*pluginv1.CheckConfigResponse, error) {
	s.learn(r.GetConfigJson())
	for _, c := range s.components {
		if c.check == nil {
			continue
		}
		if err := c.check(r.GetConfigJson()); err != nil {
			return &pluginv1.CheckConfigResponse{Diagnostics: s.diagnostics(findingsOf([]error{err}))}, nil
		}
	}
	return &pluginv1.CheckConfigResponse{}, nil
}

// CheckAccount asks the network about the config's account.
func (s *pluginServer) CheckAccount(ctx context.Context, r *pluginv1.CheckAccountRequest) (_ *pluginv1.CheckAccountResponse, err error) {
	defer s.recoverPanic("CheckAccount", &err)
	s.learn(r.GetConfigJson())
	for _, c := range s.components {
		if c.account == nil {
			continue
		}
		account, err := c.account(ctx, r.GetConfigJson())
		if err != nil {
			found := findingsOf([]error{err})
			if len(found) == 0 {
				found = []finding{{summary: err.Error()}} // of the config as a whole
			}
			return &pluginv1.CheckAccountResponse{Diagnostics: s.diagnostics(found)}, nil
		}
		response := &pluginv1.CheckAccountResponse{
			Name: wire.Cut(s.redact.text(account.Name), wire.MaxName), Link: wire.Cut(s.redact.text(account.Link), wire.MaxDetail),
		}
		for _, warning := range account.Warnings {
			response.Diagnostics = append(response.Diagnostics, &pluginv1.Diagnostic{
				Severity: pluginv1.Diagnostic_SEVERITY_WARNING, Summary: wire.Cut(s.redact.text(warning), wire.MaxDetail),
			})
		}
		return response, nil
	}
	return &pluginv1.CheckAccountResponse{}, nil
}

// Forget has the component with a config delete what it keeps of a person.
func (s *pluginServer) Forget(ctx context.Context, r *pluginv1.ForgetRequest) (_ *pluginv1.ForgetResponse, err error) {
	defer s.recoverPanic("Forget", &err)
	s.learn(r.GetConfigJson())
	p := Person{Instance: r.GetInstance(), StateDir: r.GetStateDir(), Names: r.GetNames()}
	for _, u := range r.GetUsers() {
		p.Users = append(p.Users, User{u.GetChannel(), chat.UserID(u.GetId())})
	}
	response := &pluginv1.ForgetResponse{}
	for _, c := range s.components {
		if c.forget == nil {
			continue
		}
		left, err := c.forget(ctx, r.GetConfigJson(), p)
		if err != nil {
			return nil, status.Error(codes.Aborted, s.redact.text(err.Error()))
		}
		for _, line := range left {
			response.Left = append(response.Left, wire.Cut(s.redact.text(line), wire.MaxDetail))
		}
	}
	return response, nil
}

// learn redacts a config's secrets in logs and errors from here on.
func (s *pluginServer) learn(config []byte) {
	for _, c := range s.components {
		if c.schema == nil {
			continue
		}
		if object, err := objectOf(config); err == nil {
			s.redact.learn(secretsIn(object, c.schema))
		}
	}
}

// Configure opens the components, once. After diagnostics it may be called again.
func (s *pluginServer) Configure(ctx context.Context, r *pluginv1.ConfigureRequest) (*pluginv1.ConfigureResponse, error) {
	if err := s.beginConfigure(); err != nil {
		return nil, err
	}
	var parts []part
	var conn *grpc.ClientConn
	var fetches bool
	defer func() { s.endConfigure(parts, conn, fetches) }()

	s.learn(r.GetConfigJson())
	s.noteTraces(r.GetInstance(), traces(ctx))
	dialled, err := s.dial(r.GetHostBrokerId(), handshake.DialOptions()...)
	if err != nil {
		return nil, status.Errorf(codes.Unavailable, "dial the host: %v", err)
	}
	opened, err := s.open(ctx, newEnv(s.log, dialled, s.line, r), r.GetConfigJson())
	if err != nil {
		_ = dialled.Close()
		return s.refuse(err)
	}
	parts, conn, fetches = opened, dialled, r.GetFetchesFiles()
	return &pluginv1.ConfigureResponse{}, nil
}

// beginConfigure ensures that Configure runs alone, and not again after it has succeeded.
func (s *pluginServer) beginConfigure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.configuring || s.parts != nil || s.closed {
		return status.Error(codes.FailedPrecondition, "the plugin is already configured")
	}
	s.configuring = true
	return nil
}

// endConfigure stores the opened components and starts the services. There are no components if Configure failed.
func (s *pluginServer) endConfigure(parts []part, conn *grpc.ClientConn, fetches bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configuring = false
	if s.closed {
		s.stop(s.alive, parts)
		if conn != nil {
			_ = conn.Close()
		}
		return
	}
	s.parts, s.conn, s.fetches = parts, conn, fetches
	for _, p := range parts {
		if runner, ok := p.value.(Runner); ok && s.runs.enter() {
			go s.runService(runner)
		}
	}
}

// open opens the components in order. If one fails, those opened before are stopped.
func (s *pluginServer) open(ctx context.Context, env Env, config []byte) ([]part, error) {
	var parts []part
	for _, c := range s.components {
		value, err := c.open(ctx, env, config)
		if err != nil {
			s.stop(ctx, parts)
			return nil, err
		}
		if box, ok := value.(Toolbox); ok {
			c.tools = append(slices.Clip(c.tools), box.Tools()...)
		}
		parts = append(parts, part{Component: c, value: value})
	}
	if err := validateTools(toolsOf(parts)); err != nil {
		s.stop(ctx, parts)
		return nil, err
	}
	return parts, nil
}

// refuse answers Configure for an error of an open function.
func (s *pluginServer) refuse(err error) (*pluginv1.ConfigureResponse, error) {
	found := findings(err)
	switch {
	case len(found) > 0:
		return &pluginv1.ConfigureResponse{Diagnostics: s.diagnostics(found)}, nil
	case errors.Is(err, ErrBadCredentials), errors.Is(err, ErrLoggedOut):
		return nil, status.Error(codes.FailedPrecondition, err.Error())
	default:
		return nil, status.Error(codes.Aborted, err.Error())
	}
}

// diagnostics converts findings to the protocol's diagnostics.
func (s *pluginServer) diagnostics(found []finding) (list []*pluginv1.Diagnostic) {
	for _, f := range found {
		f.summary = s.redact.text(f.summary)
		list = append(list, f.diagnostic())
	}
	return list
}

// runService runs a service until the plugin shuts down.
func (s *pluginServer) runService(runner Runner) {
	defer s.runs.leave()
	err := func() (err error) {
		defer s.recoverPanic("the service's Run", &err)
		return runner.Run(s.alive)
	}()
	if err == nil || s.alive.Err() != nil {
		return
	}
	select {
	case s.failed <- fmt.Errorf("the service ended: %s", s.redact.text(err.Error())):
	default: // another service has failed already
	}
}

// CheckHealth asks each component that is a [HealthChecker] or a [StatusReporter].
func (s *pluginServer) CheckHealth(ctx context.Context, _ *pluginv1.CheckHealthRequest) (*pluginv1.CheckHealthResponse, error) {
	var doing []string
	for _, p := range s.opened() {
		if checker, ok := p.value.(HealthChecker); ok {
			if err := checker.Health(ctx); err != nil {
				return &pluginv1.CheckHealthResponse{Detail: wire.Cut(s.redact.text(err.Error()), wire.MaxDetail)}, nil
			}
		}
		if reporter, ok := p.value.(StatusReporter); ok {
			if said := reporter.Status(); said != "" {
				doing = append(doing, said)
			}
		}
	}
	return &pluginv1.CheckHealthResponse{Healthy: true, Detail: wire.Cut(s.redact.text(strings.Join(doing, "; ")), wire.MaxDetail)}, nil
}

// Shutdown drains the plugin: first calls in progress end, then Run ends, then Stop is called. What takes longer than the
// grace period is abandoned.
func (s *pluginServer) Shutdown(ctx context.Context, r *pluginv1.ShutdownRequest) (*pluginv1.ShutdownResponse, error) {
	grace := defaultGrace
	if r.GetGrace().IsValid() && r.GetGrace().AsDuration() > 0 {
		grace = r.GetGrace().AsDuration()
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	s.mu.Lock()
	parts, conn, first := s.parts, s.conn, !s.closed
	s.closed = true
	s.mu.Unlock()
	if !first {
		return &pluginv1.ShutdownResponse{}, nil
	}
	s.calls.close()
	if !s.calls.wait(ctx) {
		s.log.Warn("calls of the host are still running at shutdown")
	}
	s.runs.close()
	s.end()
	if !s.runs.wait(ctx) {
		s.log.Warn("Run has not returned at shutdown, though its context has ended")
	}
	s.stop(ctx, parts)
	if conn != nil {
		_ = conn.Close()
	}
	return &pluginv1.ShutdownResponse{}, nil
}

// stop stops components, the last one first.
func (p *plugin) stop(ctx context.Context, parts []part) {
	for _, part := range slices.Backward(parts) {
		stopper, ok := part.value.(Stopper)
		if !ok {
			continue
		}
		err := func() (err error) {
			defer p.recoverPanic("Stop", &err)
			return stopper.Stop(ctx)
		}()
		if err != nil {
			p.log.Warn("a component failed to stop", "component", part.name, "error", err)
		}
	}
}
