// Lets the Go SDK list a server's tools and call some, and prints what a model would read. Jobs and events are those of
// ../python/drive.py.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type job struct {
	URL     string
	Command []string
	Calls   [][2]any
}

func say(name string, value any) {
	line, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/modelcontextprotocol/go-sdk" {
			return module.Version[1:]
		}
	}
	return ""
}

func main() {
	say("version", version())
	var job job
	if err := json.NewDecoder(os.Stdin).Decode(&job); err != nil {
		log.Fatal(err)
	}
	var transport mcp.Transport = &mcp.StreamableClientTransport{Endpoint: job.URL}
	if job.URL == "" {
		transport = &mcp.CommandTransport{Command: exec.Command(job.Command[0], job.Command[1:]...)}
	}
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "journey", Version: "0"}, nil)
	session, err := client.Connect(ctx, transport, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	names := []string{}
	for tool, err := range session.Tools(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		names = append(names, tool.Name)
	}
	say("tools", names)
	for _, call := range job.Calls {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: call[0].(string), Arguments: call[1]})
		if err != nil {
			say("read", err.Error())
			continue
		}
		text, err := json.Marshal(result)
		if err != nil {
			log.Fatal(err)
		}
		say("read", string(text))
	}
}
