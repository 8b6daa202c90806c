package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/tandem-do/tandem/proto/props"
	"github.com/tandem-do/tandem/tools/sources"
)

// Variables of the commands that talk to a worker.
const (
	tokenVariable  = "TANDEM_TOKEN"
	workerVariable = "TANDEM_URL"
)

// sourcesFlags are the flags of all commands about sources.
type sourcesFlags struct {
	sys       system
	options   sources.Options
	tokenFile string
	signIn    bool
}

// newSources returns `tandem sources`.
func newSources(sys system) *cobra.Command {
	f := &sourcesFlags{sys: sys, options: sources.Options{URL: "http://127.0.0.1:8787", Stdout: sys.stdout}}
	cmd := &cobra.Command{
		Use:   "sources",
		Short: "Add, show and change the sources of tools of an organization",
		Long: `Add, show and change the sources of an organization: remote MCP servers and OpenAPI documents whose
operations become tools of programs, at tools.<source>.<tool>. The worker is asked with a token of
a member, from $TANDEM_TOKEN, --token-file, or --sign-in.`,
		Example: `  export TANDEM_TOKEN=$(tandem sources token)
  tandem sources add github --mcp https://api.githubcopilot.com/mcp/ --bearer-env GITHUB_TOKEN
  tandem sources list
  tandem sources tools github`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	fs.SortFlags = false
	fs.StringVar(&f.options.URL, "url", f.options.URL, "origin of the worker")
	fromEnv(fs, "url", workerVariable)
	fs.StringVar(&f.tokenFile, "token-file", "",
		"file of a bearer token, - for standard input (default: $"+tokenVariable+")")
	fs.BoolVar(&f.signIn, "sign-in", false, "sign in to the worker with a browser, instead of a token")
	fs.BoolVar(&f.options.JSON, "json", false, "print one JSON document a line")
	cmd.AddCommand(f.add(), f.list(), f.update(), f.newToken(),
		f.one("show", "Show a source", (*sources.Client).Show),
		f.one("tools", "List the tools of a source", (*sources.Client).Tools),
		f.one("refresh", "Ask a source for its tools again", (*sources.Client).Refresh),
		f.one("remove", "Remove a source and its secret", (*sources.Client).Remove))
	return cmd
}

// run does something with a client until it is done or a signal ends it.
func (f *sourcesFlags) run(fs *pflag.FlagSet, do func(context.Context, *sources.Client) error) error {
	if err := applyEnv(fs, f.sys.lookup); err != nil {
		return err
	}
	ctx, _, stop := signals(func() { os.Exit(exitKilled) })
	defer stop()
	token, err := f.token(ctx)
	if err != nil {
		return err
	}
	f.options.Token = token
	c, err := sources.New(f.options)
	if err != nil {
		return usageError{err}
	}
	defer c.Close()
	return do(ctx, c)
}

// token returns the bearer token for the worker.
func (f *sourcesFlags) token(ctx context.Context) (string, error) {
	text, _ := f.sys.lookup(tokenVariable)
	switch {
	case f.signIn:
		return sources.WorkerToken(ctx, f.options.URL, f.sys.stderr)
	case f.tokenFile != "":
		return sources.ReadSecret(f.tokenFile, f.sys.stdin)
	case strings.TrimSpace(text) != "":
		return strings.TrimSpace(text), nil
	}
	return "", usagef("a token is needed: set $%s, or give --token-file or --sign-in", tokenVariable)
}

// one returns a command on one source.
func (f *sourcesFlags) one(
	name, short string, do func(*sources.Client, context.Context, string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: name + " {NAME | ID}", Short: short, Example: "  tandem sources " + name + " github",
		Args: arguments("a source's name or ID", 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Flags(), func(ctx context.Context, c *sources.Client) error { return do(c, ctx, args[0]) })
		},
	}
}

func (f *sourcesFlags) list() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sources", Example: "  tandem sources list --json", Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Flags(), list) },
	}
}

func list(ctx context.Context, c *sources.Client) error { return c.List(ctx) }

// newToken returns `tandem sources token`.
func (f *sourcesFlags) newToken() *cobra.Command {
	return &cobra.Command{
		Use: "token", Short: "Sign in to the worker with a browser and print a token", Args: noArguments,
		Example: "  export TANDEM_TOKEN=$(tandem sources token)",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := applyEnv(cmd.Flags(), f.sys.lookup); err != nil {
				return err
			}
			ctx, _, stop := signals(func() { os.Exit(exitKilled) })
			defer stop()
			token, err := sources.WorkerToken(ctx, f.options.URL, f.sys.stderr)
			if err == nil {
				_, err = fmt.Fprintln(f.sys.stdout, token)
			}
			return err
		},
	}
}

// add returns `tandem sources add`.
func (f *sourcesFlags) add() *cobra.Command {
	var a sources.Addition
	var secret secretFlags
	var mcp, openapi string
	disabled := false
	cmd := &cobra.Command{
		Use: "add NAME", Short: "Add a source",
		Args: arguments("a name, the source's segment in tools.<name>.<tool>", 1),
		Long: `Add a source. It is connected to first, so that what is wrong shows at once. Secrets are read from the
environment, a file or standard input, and kept encrypted by the object host.`,
		Example: `  tandem sources add github --mcp https://api.githubcopilot.com/mcp/ --bearer-env GITHUB_TOKEN
  tandem sources add linear --mcp https://mcp.linear.app/mcp --oauth
  tandem sources add pets --openapi https://petstore3.swagger.io/api/v3/openapi.json
  tandem sources add billing --openapi billing.yaml --base-url https://billing.example.com \
    --header-file X-Api-Key=key.txt`,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&mcp, "mcp", "", "URL of a remote MCP server (streamable HTTP)")
	fs.StringVar(&openapi, "openapi", "", "URL or file of an OpenAPI 3 document, - for standard input")
	fs.StringVar(&a.BaseURL, "base-url", "", "where the operations are, if not where the document says")
	secret.add(fs)
	fs.BoolVar(&disabled, "disabled", false, "keep its tools out of the catalogue for now")
	fs.BoolVar(&a.Unverified, "unverified", false, "add it without connecting to it")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.Name, a.Enabled = args[0], !disabled
		if err := f.locate(&a, mcp, openapi); err != nil {
			return err
		}
		if err := secret.check(a.Kind); err != nil {
			return err
		}
		return f.run(cmd.Flags(), func(ctx context.Context, c *sources.Client) (err error) {
			if a.Auth, err = secret.read(ctx, f.sys, a.URL); err != nil {
				return err
			}
			return c.Add(ctx, a)
		})
	}
	return cmd
}

// locate says where a new source is.
func (f *sourcesFlags) locate(a *sources.Addition, mcp, openapi string) error {
	switch {
	case (mcp == "") == (openapi == ""):
		return usagef("give --mcp or --openapi, one of them")
	case mcp != "":
		a.Kind, a.URL = props.SourceMCP, mcp
		return nil
	}
	a.Kind = props.SourceOpenAPI
	if u, err := url.Parse(openapi); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
		a.URL = openapi
		return nil
	}
	document, err := sources.ReadFile(openapi, f.sys.stdin, props.MaxSourceDocumentBytes)
	if err != nil {
		return usageError{err}
	}
	a.Document = document
	return nil
}

// update returns `tandem sources update`.
func (f *sourcesFlags) update() *cobra.Command {
	var change sources.Change
	var secret secretFlags
	name, enable, disable := "", false, false
	cmd := &cobra.Command{
		Use: "update {NAME | ID}", Short: "Rename, enable or disable a source, or give it other credentials",
		Args: arguments("a source's name or ID", 1),
		Example: `  tandem sources update github --disable
  tandem sources update github --bearer-env GITHUB_TOKEN`,
	}
	fs := cmd.Flags()
	fs.SortFlags = false
	fs.StringVar(&name, "rename", "", "another name; policies on the old one then match nothing")
	fs.BoolVar(&enable, "enable", false, "put its tools into the catalogue")
	fs.BoolVar(&disable, "disable", false, "take its tools out of the catalogue")
	secret.add(fs)
	fs.BoolVar(&change.Unverified, "unverified", false, "take credentials without trying them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if enable && disable {
			return usagef("--enable and --disable exclude each other")
		}
		if enable || disable {
			change.Enabled = &enable
		}
		if name != "" {
			change.Name = &name
		}
		if err := secret.check(props.SourceMCP); err != nil {
			return err
		}
		if change.Enabled == nil && change.Name == nil && secret.given() == 0 {
			return usagef("nothing to change: give --rename, --enable, --disable or credentials")
		}
		return f.run(cmd.Flags(), func(ctx context.Context, c *sources.Client) (err error) {
			if change.Auth, err = f.newSecret(ctx, c, &secret, args[0]); err != nil {
				return err
			}
			return c.Update(ctx, args[0], change)
		})
	}
	return cmd
}

// newSecret reads credentials for a source that exists, if they are given.
func (f *sourcesFlags) newSecret(
	ctx context.Context, c *sources.Client, secret *secretFlags, name string,
) (*sources.Auth, error) {
	server := ""
	if secret.oauth {
		var err error
		if server, err = c.URL(ctx, name); err != nil {
			return nil, err
		}
	}
	return secret.read(ctx, f.sys, server)
}

// secretFlags say where the credentials of a source are.
type secretFlags struct {
	bearerEnv, bearerFile, headerEnv, headerFile string
	oauth, none                                  bool
}

func (s *secretFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&s.bearerEnv, "bearer-env", "", "variable of a bearer token")
	fs.StringVar(&s.bearerFile, "bearer-file", "", "file of a bearer token, - for standard input")
	fs.StringVar(&s.headerEnv, "header-env", "", "header and the variable of its value: X-Api-Key=VARIABLE")
	fs.StringVar(&s.headerFile, "header-file", "", "header and the file of its value: X-Api-Key=FILE")
	fs.BoolVar(&s.oauth, "oauth", false, "sign in to the MCP server with a browser")
	fs.BoolVar(&s.none, "no-auth", false, "send no credentials (a new source's default)")
}

// given is how many ways to authenticate were given.
func (s *secretFlags) given() (n int) {
	for _, is := range []bool{
		s.bearerEnv != "", s.bearerFile != "", s.headerEnv != "", s.headerFile != "", s.oauth, s.none,
	} {
		if is {
			n++
		}
	}
	return n
}

// check says what is wrong with the flags, for a source of a kind.
func (s *secretFlags) check(kind string) error {
	if s.given() > 1 {
		return usagef("give one of --bearer-env, --bearer-file, --header-env, --header-file, --oauth and --no-auth")
	}
	if s.oauth && kind != props.SourceMCP {
		return usagef("--oauth goes with --mcp")
	}
	for flag, text := range map[string]string{"header-env": s.headerEnv, "header-file": s.headerFile} {
		if name, value, ok := strings.Cut(text, "="); text != "" && (!ok || name == "" || value == "") {
			return usagef("--%s must be HEADER=… with where its value is, not the value itself", flag)
		}
	}
	return nil
}

// read reads the credentials, nil if none are given.
func (s *secretFlags) read(ctx context.Context, sys system, server string) (*sources.Auth, error) {
	auth := &sources.Auth{Kind: props.SourceAuthBearer}
	env, file := s.bearerEnv, s.bearerFile
	switch {
	case s.none:
		return &sources.Auth{Kind: props.SourceAuthNone}, nil
	case s.oauth:
		return sources.SignIn(ctx, server, sys.stderr)
	case s.headerEnv != "":
		auth.Kind = props.SourceAuthHeader
		auth.Header, env, _ = strings.Cut(s.headerEnv, "=")
	case s.headerFile != "":
		auth.Kind = props.SourceAuthHeader
		auth.Header, file, _ = strings.Cut(s.headerFile, "=")
	}
	var err error
	switch {
	case env != "":
		if auth.Secret, _ = sys.lookup(env); auth.Secret == "" {
			err = usageError{errors.New("environment variable " + env + " holds no secret")}
		}
	case file != "":
		auth.Secret, err = sources.ReadSecret(file, sys.stdin)
	default:
		return nil, nil
	}
	return auth, err
}
