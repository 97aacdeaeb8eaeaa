//! Tokens in the forms in which common issuers write them.

use super::*;

#[tokio::test]
async fn tokens_of_common_issuers() {
    let id = "6e74172b-be56-4843-9ff4-e66a39bb12e3";
    for (issuer, audience, client_ids, given) in [
        ("Entra", [id].as_slice(), [].as_slice(), json!({"aud": id, "azp": "agent", "scp": "tools", "ver": "2.0"})),
        (
            "Entra, version 1",
            &[id, "api://tools"],
            &[],
            json!({"aud": "api://tools", "appid": "agent", "scp": "tools"}),
        ),
        (
            "Keycloak",
            &["tools-server"],
            &[],
            json!({"aud": ["tools-server", "account"], "azp": "agent", "scope": "openid tools"}),
        ),
        ("Cognito", &[AUDIENCE], &["agent"], json!({"client_id": "agent", "token_use": "access", "scope": "tools"})),
        (
            "Auth0",
            &[AUDIENCE],
            &[],
            json!({"aud": [AUDIENCE, "https://a.example/userinfo"], "azp": "agent", "scope": "tools"}),
        ),
        ("Okta", &["api://default"], &[], json!({"aud": "api://default", "cid": "agent", "scp": ["tools"]})),
    ] {
        let mut token = json!({"iss": ISSUER, "sub": "alice", "exp": NOW + 300});
        token.as_object_mut().unwrap().extend(given.as_object().unwrap().clone());
        let world = World::expecting(audience, client_ids);
        assert_eq!(world.check(&good(&token)).await, Ok(alice()), "{issuer}");
        let metadata = world.authenticator.resource().unwrap().document("/.well-known/oauth-protected-resource/mcp");
        assert_eq!(serde_json::from_str::<Value>(metadata.unwrap()).unwrap()["resource"], AUDIENCE, "{issuer}");
        // Tokens of another application of the same issuer are refused.
        let mut other = token.clone();
        let claim = if client_ids.is_empty() { "aud" } else { "client_id" };
        other[claim] = json!("another");
        let Err(AuthError::Invalid(reason)) = world.check(&good(&other)).await else { panic!("{issuer}") };
        let expected = format!("its {claim} is another, and not ");
        assert!(reason.contains(&expected), "{issuer}: {reason}");
    }
    let client = |aud: Value| {
        good(
            &json!({"iss": ISSUER, "sub": "alice", "exp": NOW + 300, "scope": "tools", "client_id": "agent", "aud": aud}),
        )
    };
    // The client id does not count if the token has an audience, or if the operator has not named the client.
    for (client_ids, aud) in [([].as_slice(), Value::Null), (&["agent"], json!("another")), (&["agent"], json!([]))] {
        assert!(matches!(
            World::expecting(&[AUDIENCE], client_ids).check(&client(aud)).await,
            Err(AuthError::Invalid(_))
        ));
    }
}
