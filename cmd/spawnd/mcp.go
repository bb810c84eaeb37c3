// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"spawn/docs"
	"spawn/internal/strictjson"
	"spawn/internal/supervisor/verbs"
	"spawn/internal/supervisor/verbs/dial"
	"spawn/internal/version"
)

func mcpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "mcp",
		Short: "Offer the verbs as tools of the Model Context Protocol, on standard input and output",
		Long: `Offers the verbs as tools of the Model Context Protocol, on standard input and output.

Each call goes to the running spawnd as the identity of this process: that of SPAWN_TOKEN when it is set,
else what the kernel says. A program in a pane may do what that pane may, and no more.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			socket, err := controlSocket()
			if err != nil {
				return err
			}
			err = toolServer(socket).Run(cmd.Context(), &mcp.StdioTransport{MaxLineLength: mcpLineBytesMax})
			if errors.Is(err, io.EOF) || cmd.Context().Err() != nil {
				return nil // who asked for the tools has gone
			}
			return err
		},
	}
}

// mcpLineBytesMax bounds one message of whoever uses the tools: a request to spawnd and what surrounds it.
const mcpLineBytesMax = 2 * verbs.LineBytesMax

// toolServer has a tool for each verb that answers and is done.
func toolServer(socket dial.Socket) *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "spawn", Title: "spawn terminals", Version: version.Version},
		&mcp.ServerOptions{Instructions: docs.Agents})
	for _, v := range verbs.Table() {
		if !v.Stream && !v.Lines {
			s.AddTool(tool(v), caller(socket, v))
		}
	}
	return s
}

// tool describes the verb. What only reads says so; what may end or overwrite something is destructive.
func tool(v verbs.Verb) *mcp.Tool {
	destructive := v.Right == verbs.RightAdmin || v.Right == verbs.RightWrite || v.Own
	closed := false
	return &mcp.Tool{
		Name:         strings.ReplaceAll(v.Name, ".", "_"),
		Description:  long(v),
		InputSchema:  schema{v.Params.Schema()},
		OutputSchema: schema{v.Result.Schema()},
		Annotations: &mcp.ToolAnnotations{
			Title: sentence(v.Summary), ReadOnlyHint: v.ReadsOnly(), DestructiveHint: &destructive, OpenWorldHint: &closed,
		},
	}
}

// schema is written by the one writer of JSON that its tags are made for.
type schema struct{ of any }

// MarshalJSON is how the library writes it.
func (s schema) MarshalJSON() ([]byte, error) { return strictjson.Marshal(s.of) }

// caller does the verb over the control socket. What spawnd refuses is a result that says so, because the
// model that called can do something about it.
func caller(socket dial.Socket, v verbs.Verb) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		params := verbs.Raw(r.Params.Arguments)
		if len(params) == 0 {
			params = verbs.Raw("{}")
		}
		result := v.NewResult()
		err := v.CheckParams(params)
		if err == nil {
			err = socket.Call(ctx, v.Name, params, result)
		}
		if err != nil {
			return refused(err)
		}
		text, err := encodeJSON(result)
		if err != nil {
			return nil, fmt.Errorf("encode the result of %s: %w", v.Name, err)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: schema{result}}, nil
	}
}

func refused(err error) (*mcp.CallToolResult, error) {
	text, err := encodeJSON(errorObject(err))
	if err != nil {
		return nil, fmt.Errorf("encode a refusal: %w", err)
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, IsError: true}, nil
}
