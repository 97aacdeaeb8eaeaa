//! Resources that no URI leads to.

#[portcullis_guest::plugin]
mod plugin {
    /// Nowhere.
    #[resource]
    fn nowhere() -> String {}

    /// No scheme.
    #[resource(uri = "weather today")]
    fn no_scheme() -> String {}

    /// A template.
    #[resource(uri = "weather://{city}")]
    fn template() -> String {}

    /// A parameter.
    #[resource(uri = "weather://today")]
    fn parameter(city: String) -> String {}

    /// The same again.
    #[resource(uri = "weather://now")]
    fn once() -> String {}

    /// The same again.
    #[resource(uri = "weather://now")]
    fn twice() -> String {}

    #[resource(uri = "weather://undescribed")]
    fn undescribed() -> String {}

    /// A misspelt option.
    #[resource(uri = "weather://option", mimetype = "text/plain")]
    fn option() -> String {}

    /// Nobody.
    #[resource(uri = "weather://audience", audience = "nobody")]
    fn audience() -> String {}
}

#[portcullis_guest::plugin]
mod templates {
    /// No variable.
    #[resource_template(uri_template = "weather://today")]
    fn plain() -> String {}

    /// Not simple.
    #[resource_template(uri_template = "weather://{+path}")]
    fn operator(path: String) -> String {}

    /// Cannot be told apart.
    #[resource_template(uri_template = "weather://{a}{b}")]
    fn adjacent(a: String, b: String) -> String {}

    /// Missing parameter.
    #[resource_template(uri_template = "weather://{city}/{day}")]
    fn missing(city: String) -> String {}

    /// Missing variable.
    #[resource_template(uri_template = "weather://{city}")]
    fn more(city: String, day: String) -> String {}
}

fn main() {}
