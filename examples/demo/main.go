// Demo is an MCP client. It starts chrome-mcp as an MCP host does, and buys a lamp: it opens a
// shop, reads the form, fills it in by refs, submits it, answers the shop's confirm dialog, reads
// the receipt and takes a screenshot of it.
//
//	go run ./examples/demo -server bin/chrome-mcp [-screenshot FILE] [-- flags of the server]
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chrome-mcp/chrome-mcp/examples/shop"
)

func main() {
	server := flag.String("server", "chrome-mcp", "chrome-mcp program to start")
	picture := flag.String("screenshot", "demo.png", "file to save the screenshot of the receipt to")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, *server, flag.Args(), *picture); err != nil {
		stop()
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, server string, flags []string, picture string) (err error) {
	lamps, address, stop, err := shop.Open()
	if err != nil {
		return err
	}
	defer stop()

	// The flags that the user of an MCP host writes into its configuration.
	flags = append([]string{
		"--allow-domain", address, // the agent may visit the shop and no other site
		"--enable-mutations", // and may click and type there
		"--isolated",
	}, flags...)
	if os.Geteuid() == 0 {
		flags = append(flags, "--no-sandbox") // Chromium does not run as root without this
	}
	command := exec.Command(server, flags...)
	command.Stderr = os.Stderr

	agent := mcp.NewClient(&mcp.Implementation{Name: "demo", Version: "1"}, nil)
	session, err := agent.Connect(ctx, &mcp.CommandTransport{Command: command}, nil)
	if err != nil {
		return fmt.Errorf("start %s: %w", server, err)
	}
	defer func() {
		if e := session.Close(); err == nil {
			err = e
		}
	}()
	d := &demo{ctx: ctx, session: session, out: out}

	d.call("navigate", args{"url": address})
	d.call("click", args{"ref": d.ref("link", "Order this lamp")})
	form := d.call("snapshot", nil)
	d.call("fill_form", args{"fields": args{
		find(form, "textbox", "Name"):       "Ada Lovelace",
		find(form, "textbox", "Email"):      "ada@example.com",
		find(form, "combobox", "Country"):   "Norway",
		find(form, "", "Deliver on"):        "2027-01-15",
		find(form, "radio", "Paper"):        true,
		find(form, "checkbox", "Gift wrap"): true,
		find(form, "textbox", "Message"):    "For the analytical engine’s desk.",
	}})
	d.call("click", args{"ref": find(form, "button", "Place the order")})
	d.call("handle_dialog", args{"accept": true})
	d.call("wait_for", args{"text": "Thank you"})
	d.call("read_as_markdown", nil)
	d.screenshot(picture)
	if d.err != nil {
		return d.err
	}
	if orders := lamps.Orders(); len(orders) != 1 || orders[0].Name != "Ada Lovelace" || !orders[0].Gift {
		return fmt.Errorf("the shop received %+v, want one order", orders)
	}
	fmt.Fprintf(out, "\nThe shop received the order. Screenshot of the receipt: %s\n", picture)
	return nil
}

type args = map[string]any

// A demo calls tools one after another and prints each call. After the first error it does nothing.
type demo struct {
	ctx     context.Context
	session *mcp.ClientSession
	out     io.Writer
	err     error
}

// call calls a tool and returns the text that a model would receive.
func (d *demo) call(tool string, arguments args) string {
	result := d.do(tool, arguments)
	if result == nil {
		return ""
	}
	var text strings.Builder
	for _, content := range result.Content {
		if c, ok := content.(*mcp.TextContent); ok {
			text.WriteString(c.Text)
		}
	}
	for line := range strings.Lines(text.String()) {
		fmt.Fprintf(d.out, "           │ %s\n", strings.TrimRight(line, "\n"))
	}
	if result.IsError {
		d.err = fmt.Errorf("%s: %s", tool, text.String())
	}
	return text.String()
}

func (d *demo) do(tool string, arguments args) *mcp.CallToolResult {
	if d.err != nil {
		return nil
	}
	start := time.Now()
	result, err := d.session.CallTool(d.ctx, &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		d.err = fmt.Errorf("%s: %w", tool, err)
		return nil
	}
	fmt.Fprintf(d.out, "%7d ms ┌ %s\n", time.Since(start).Milliseconds(), tool)
	return result
}

// ref takes a snapshot of the elements with this name, and returns the ref of the one with this
// role.
func (d *demo) ref(role, name string) string {
	return find(d.call("snapshot", args{"find": name}), role, name)
}

// find returns the ref of the element with this role and name in a snapshot. An empty role matches
// any role.
func find(snapshot, role, name string) string {
	if role == "" {
		role = `\S+`
	}
	line := regexp.MustCompile(`- ` + role + ` "` + regexp.QuoteMeta(name) + `".*?\[ref=(e\d+)\]`)
	if match := line.FindStringSubmatch(snapshot); match != nil {
		return match[1]
	}
	return name // the server reports an invalid ref
}

// screenshot saves a screenshot of the page.
func (d *demo) screenshot(file string) {
	result := d.do("screenshot", nil)
	if result == nil {
		return
	}
	for _, content := range result.Content {
		if image, ok := content.(*mcp.ImageContent); ok {
			d.err = os.WriteFile(file, image.Data, 0o644)
			return
		}
	}
	d.err = fmt.Errorf("screenshot: no image in the result")
}
