//go:build wasip1

// Package export_portcullis_plugin_resources is what the generated bindings call for the interface `resources`.
package export_portcullis_plugin_resources

import (
	"errors"

	"portcullis/internal/abi"
	resources "portcullis/internal/bindings/portcullis_plugin_resources"
	wit "portcullis/internal/bindings/portcullis_plugin_types"
	"portcullis/internal/wasm"

	witTypes "portcullis/internal/wit/types"
)

// ListResources lists the plugin's resources.
func ListResources() []resources.ResourceInfo {
	var list []resources.ResourceInfo
	for _, resource := range abi.Entered().Resources(false) {
		list = append(list, resources.ResourceInfo{
			Uri:         resource.URI,
			Name:        resource.Name,
			Title:       wasm.Maybe(resource.Title),
			Description: wasm.Maybe(resource.Description),
			MimeType:    wasm.Maybe(resource.MimeType),
			Size:        witTypes.None[uint64](),
			Annotations: witTypes.None[wit.ContentAnnotations](),
		})
	}
	return list
}

// ListTemplates lists the patterns of the plugin's resources.
func ListTemplates() []resources.ResourceTemplate {
	var list []resources.ResourceTemplate
	for _, resource := range abi.Entered().Resources(true) {
		list = append(list, resources.ResourceTemplate{
			UriTemplate: resource.URI,
			Name:        resource.Name,
			Title:       wasm.Maybe(resource.Title),
			Description: wasm.Maybe(resource.Description),
			MimeType:    wasm.Maybe(resource.MimeType),
			Annotations: witTypes.None[wit.ContentAnnotations](),
		})
	}
	return list
}

// ReadResource reads a resource.
func ReadResource(call wit.CallContext, uri string) witTypes.Result[[]wit.EmbeddedResource, resources.ReadError] {
	found, err := abi.Entered().Read(wasm.CallFrom(call), uri)
	if errors.Is(err, abi.NotFound) {
		return witTypes.Err[[]wit.EmbeddedResource](resources.MakeReadErrorNotFound())
	}
	if err != nil {
		return witTypes.Err[[]wit.EmbeddedResource](resources.MakeReadErrorFailed(wasm.ToolError(err)))
	}
	var embedded []wit.EmbeddedResource
	for _, resource := range found {
		embedded = append(embedded, wasm.Embedded(resource))
	}
	return witTypes.Ok[[]wit.EmbeddedResource, resources.ReadError](embedded)
}
