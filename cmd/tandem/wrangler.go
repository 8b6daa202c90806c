package main

// insteadOf says what to do instead of a command of wrangler's that is not there, or nothing.
func insteadOf(command string) string {
	const elsewhere = "it is about an account at Cloudflare, and nothing here needs one"
	switch command {
	case "deploy", "publish":
		return "tandem build writes a bundle, put it where the processes have theirs and run tandem reload; see docs/migrating.md"
	case "versions", "deployments", "rollback", "triggers":
		return "what runs is the bundle file of each process; put an earlier one back and run tandem reload"
	case "tail":
		return "the processes write console lines to their output, and spans to the OTLP collector that they are told of"
	case "secret", "secrets-store":
		return "secrets are in .dev.vars in development and in the JSON file of --secrets-file otherwise; tandem reload reads it again"
	case "start":
		return "it is tandem dev"
	case "check-startup":
		return "it is tandem check"
	case "kv":
		return "keys are in objects, which tandem objects show @tandem-KV lists; tandem import brings over those of wrangler dev"
	case "d1", "r2", "queues", "vectorize", "hyperdrive", "workflows", "pipelines", "ai", "containers", "pages":
		return "there is no such service here yet; see docs/migrating.md"
	case "types":
		return "wrangler types writes them from the same configuration"
	case "init", "generate", "setup":
		return "npm create cloudflare@latest makes a project, and tandem dev runs it"
	case "login", "logout", "whoami", "auth", "delete", "dispatch-namespace", "mtls-certificate", "cert", "telemetry":
		return elsewhere
	}
	return ""
}

// insteadOfFlag says what to do instead of a flag of wrangler dev that is not there, or nothing.
func insteadOfFlag(flag string) string {
	switch flag {
	case "ip", "host", "local-protocol", "https-key-path", "https-cert-path", "tunnel", "local-upstream", "upstream-protocol":
		return "tandem dev listens on 127.0.0.1 only, by HTTP; --port chooses the port"
	case "inspect", "inspect-brk", "inspector-port", "inspector-ip":
		return "the engine has no inspector: use console.log, whose lines appear here, and the spans of the dashboard"
	case "var", "define", "alias", "name", "compatibility-date", "compatibility-flag", "compatibility-flags", "tsconfig",
		"jsx-factory", "jsx-fragment", "no-bundle", "minify", "rules", "assets", "site", "routes", "route", "triggers",
		"upload-source-maps":
		return "write it into the wrangler file or, for a variable, into .dev.vars"
	case "env-file":
		return "variables are read from .dev.vars, or else from .env files, beside the wrangler file"
	case "config":
		return "give the wrangler file as the argument: tandem dev path/to/wrangler.jsonc"
	case "cwd":
		return "give the directory as the argument: tandem dev path/to/project"
	case "local", "l", "test-scheduled", "live-reload", "show-interactive-dev-session", "types", "experimental-local":
		return "leave it out: everything is local, is reloaded on change, and has /cdn-cgi/local/scheduled"
	case "remote", "r":
		return "nothing runs at Cloudflare: all bindings are local"
	case "persist-to", "persist":
		return "--state-dir names the directory of the state; tandem import brings over that of wrangler dev"
	case "containers-only", "enable-containers", "container-engine":
		return "there are no containers"
	}
	return ""
}
