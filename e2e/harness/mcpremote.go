package harness

import (
	"os"
	"os/exec"
	"path/filepath"
)

// MCPRemote returns the command that runs mcp-remote on Node 22, which speaks MCP on its standard input and output for a
// remote endpoint. It has no credentials but those that args give it, and signs in by a browser in which the person with
// the e-mail address sits.
func MCPRemote(t T, endpoint, email string, args ...string) *exec.Cmd {
	t.Helper()
	dir, home := nodeDir(), t.TempDir()
	args = append([]string{filepath.Join(dir, "node_modules/mcp-remote/dist/proxy.js"), endpoint}, args...)
	cmd := exec.Command(node22(), args...)
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "HOME="+home, "MCP_REMOTE_CONFIG_DIR="+home,
		"BROWSER="+filepath.Join(dir, "browser.mjs"), "TANDEM_E2E_EMAIL="+email, "DISPLAY=")
	cmd.Stderr = &tail{}
	return cmd
}
