import type { Agent } from 'node:http';
import * as https from 'node:https';
import { http } from '../process/node-http.ts';
import type { ApiAccess } from './access.ts';
import { type Credentials, isSameTls } from './credentials.ts';

const KEEP_ALIVE = { keepAlive: true, timeout: 90_000 } as const;

/** The connections to one API server. Those that were opened with other certificates serve what they carry, and nothing more. */
export class Agents implements Disposable {
  readonly #access: ApiAccess;
  readonly #isSecure: boolean;
  readonly #retired = new Set<Agent>();
  #present: { readonly agent: Agent; readonly credentials: Credentials } | null = null;

  constructor(access: ApiAccess) {
    this.#access = access;
    this.#isSecure = new URL(access.server).protocol === 'https:';
  }

  for(credentials: Credentials): Agent {
    if (this.#present !== null && isSameTls(this.#present.credentials, credentials))
      return this.#present.agent;
    if (this.#present !== null) this.#retire(this.#present.agent);
    const agent = this.#open(credentials);
    this.#present = { agent, credentials };
    return agent;
  }

  [Symbol.dispose](): void {
    this.#present?.agent.destroy();
    for (const agent of this.#retired) agent.destroy();
  }

  #open({ authority, clientCertificate }: Credentials): Agent {
    const { serverName, proxy } = this.#access;
    const through = proxy ?? undefined;
    if (!this.#isSecure)
      return new http.Agent({ ...KEEP_ALIVE, ...(through && { proxyEnv: { HTTP_PROXY: through } }) });
    return new https.Agent({
      ...KEEP_ALIVE,
      ...(through && { proxyEnv: { HTTPS_PROXY: through } }),
      ...(authority !== null && { ca: authority }),
      ...(serverName !== null && { servername: serverName }),
      ...(clientCertificate !== null && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    });
  }

  /** A watch goes on to its end, which the API server sets at ten minutes at most. */
  #retire(agent: Agent): void {
    for (const each of this.#retired) if (Object.keys(each.sockets).length === 0) this.#retired.delete(each);
    agent.maxFreeSockets = 0;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    this.#retired.add(agent);
  }
}
