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
