import { ConvexProvider, ConvexReactClient } from "convex/react";
import { StrictMode, useMemo, useState } from "react";
import { createRoot } from "react-dom/client";
import { embeddedClient } from "../embedded/client";
import { Expenses } from "./expenses";
import "./page.css";

const url: unknown = import.meta.env["VITE_CONVEX_URL"];

/** For a deployment. Your sign-in provider (Clerk, Auth0, Convex Auth …) gives the token. */
function deployment(address: string): ConvexReactClient {
  const client = new ConvexReactClient(address);
  client.setAuth(async () => await Promise.resolve(localStorage.getItem("token")));
  return client;
}

/** On the embedded back end you choose who you are. */
function Embedded() {
  const [user, setUser] = useState("ada");
  const client = useMemo(() => embeddedClient(user), [user]);
  return (
    <ConvexProvider client={client} key={user}>
      <label className="user">
        Signed in as{" "}
        <select value={user} onChange={(event) => setUser(event.target.value)}>
          <option value="ada">Ada, an employee</option>
          <option value="grace">Grace, her manager</option>
        </select>
      </label>
      <Expenses />
    </ConvexProvider>
  );
}

const root = createRoot(document.querySelector("#root")!);
root.render(
  <StrictMode>
    {typeof url === "string" ? (
      <ConvexProvider client={deployment(url)}>
        <Expenses />
      </ConvexProvider>
    ) : (
      <Embedded />
    )}
  </StrictMode>,
);
