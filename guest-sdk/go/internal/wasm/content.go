//go:build wasip1

// Package wasm is between the generated bindings and the SDK.
package wasm

import (
	"portcullis/internal/abi"
	wit "portcullis/internal/bindings/portcullis_plugin_types"

	witTypes "portcullis/internal/wit/types"
)

// Maybe is a text that may be missing, which an empty one is.
func Maybe(text string) witTypes.Option[string] {
	if text == "" {
		return witTypes.None[string]()
	}
	return witTypes.Some(text)
}

// Optional is a value that may be missing.
func Optional[T any](value *T) witTypes.Option[T] {
	if value == nil {
		return witTypes.None[T]()
	}
	return witTypes.Some(*value)
}

func unless[T comparable](value, none T) witTypes.Option[T] {
	if value == none {
		return witTypes.None[T]()
	}
	return witTypes.Some(value)
}

// Contents converts content for the host.
func Contents(content []abi.Content) []wit.Content {
	converted := make([]wit.Content, len(content))
	for i, piece := range content {
		converted[i] = ContentOf(piece)
	}
	return converted
}

// ContentOf converts a piece of content for the host.
func ContentOf(content abi.Content) wit.Content {
	blob := wit.Blob{MimeType: content.MimeType, Data: content.Data}
	data := wit.MakeContentDataText(content.Text)
	switch content.Kind {
	case abi.ImageContent:
		data = wit.MakeContentDataImage(blob)
	case abi.AudioContent:
		data = wit.MakeContentDataAudio(blob)
	case abi.LinkContent:
		data = wit.MakeContentDataResourceLink(wit.ResourceLink{
			Uri:         content.URI,
			Name:        content.Name,
			Title:       Maybe(content.Title),
			Description: Maybe(content.Description),
			MimeType:    Maybe(content.MimeType),
			Size:        unless(content.Size, 0),
		})
	case abi.ResourceContent:
		data = wit.MakeContentDataResource(Embedded(content))
	}
	annotations := witTypes.None[wit.ContentAnnotations]()
	if len(content.Audience) > 0 || content.Priority != nil || content.LastModified != "" {
		annotations = witTypes.Some(wit.ContentAnnotations{
			Audience:     roles(content.Audience),
			Priority:     Optional(content.Priority),
			LastModified: Maybe(content.LastModified),
		})
	}
	return wit.Content{Data: data, Annotations: annotations}
}

func roles(roles []abi.Role) []wit.Role {
	converted := make([]wit.Role, len(roles))
	for i, role := range roles {
		converted[i] = wit.Role(role)
	}
	return converted
}

// Embedded converts a resource in place for the host.
func Embedded(content abi.Content) wit.EmbeddedResource {
	body := wit.MakeResourceBodyText(content.Text)
	if content.IsBytes {
		body = wit.MakeResourceBodyBlob(content.Data)
	}
	return wit.EmbeddedResource{Uri: content.URI, MimeType: Maybe(content.MimeType), Body: body}
}

func contentsFrom(content []wit.Content) []abi.Content {
	converted := make([]abi.Content, len(content))
	for i, piece := range content {
		converted[i] = contentFrom(piece)
	}
	return converted
}

func contentFrom(content wit.Content) abi.Content {
	converted := abi.Content{Kind: abi.ContentKind(content.Data.Tag())}
	switch converted.Kind {
	case abi.TextContent:
		converted.Text = content.Data.Text()
	case abi.ImageContent:
		blob := content.Data.Image()
		converted.MimeType, converted.Data = blob.MimeType, blob.Data
	case abi.AudioContent:
		blob := content.Data.Audio()
		converted.MimeType, converted.Data = blob.MimeType, blob.Data
	case abi.LinkContent:
		link := content.Data.ResourceLink()
		converted.URI, converted.Name, converted.Size = link.Uri, link.Name, link.Size.SomeOr(0)
		converted.Title, converted.Description, converted.MimeType = link.Title.SomeOr(""), link.Description.SomeOr(""), link.MimeType.SomeOr("")
	case abi.ResourceContent:
		resource := content.Data.Resource()
		converted.URI, converted.MimeType = resource.Uri, resource.MimeType.SomeOr("")
		if converted.IsBytes = resource.Body.Tag() == wit.ResourceBodyBlob; converted.IsBytes {
			converted.Data = resource.Body.Blob()
		} else {
			converted.Text = resource.Body.Text()
		}
	}
	if content.Annotations.IsSome() {
		annotations := content.Annotations.Some()
		for _, role := range annotations.Audience {
			converted.Audience = append(converted.Audience, abi.Role(role))
		}
		if annotations.Priority.IsSome() {
			priority := annotations.Priority.Some()
			converted.Priority = &priority
		}
		converted.LastModified = annotations.LastModified.SomeOr("")
	}
	return converted
}

// CallFrom converts what a call is told of itself.
func CallFrom(call wit.CallContext) abi.Call {
	return abi.Call{
		ID:             call.Id,
		Principal:      call.Principal,
		CorrelationID:  call.CorrelationId.SomeOr(""),
		IdempotencyKey: call.IdempotencyKey.SomeOr(""),
		Traceparent:    call.Traceparent.SomeOr(""),
		DeadlineMS:     call.DeadlineMs,
	}
}
