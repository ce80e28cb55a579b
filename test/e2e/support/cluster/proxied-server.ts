import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { stringify } from 'yaml';
import { z } from 'zod';

/** The way to an API server, which can be closed and opened, and led to another one. */
export interface ProxiedServer extends AsyncDisposable {
  /** Its URL. */
  readonly address: string;
  /** Writes a kubeconfig by which the server is reached over this way, with the user of the given one. */
  writeKubeconfig(path: string, by?: unknown): void;
  /** Nobody gets through, and who was through is cut off. */
  close(): void;
  open(): void;
  /** From now on it leads to the server of this kubeconfig. */
  leadTo(kubeconfig: unknown): void;
}

const Kubeconfig = z.looseObject({
  clusters: z.tuple([z.looseObject({ cluster: z.looseObject({ server: z.url() }) })]),
});

const portOf = (kubeconfig: unknown): number =>
  Number(new URL(Kubeconfig.parse(kubeconfig).clusters[0].cluster.server).port);

export async function proxiedServer(kubeconfig: unknown): Promise<ProxiedServer> {
  let target: number | null = portOf(kubeconfig);
  let lastTarget = target;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    if (target === null) return client.destroy();
    const upstream = connect(target, '127.0.0.1');
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one
        .on('error', () => other.destroy())
        .on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
    }
    return undefined;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const cut = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  const address = `https://127.0.0.1:${port}`;
  return {
    address,
    writeKubeconfig: (path, by = kubeconfig) => {
      const written = Kubeconfig.parse(structuredClone(by));
      written.clusters[0].cluster.server = address;
      writeFileSync(path, stringify(written));
    },
    close: () => {
      target = null;
      cut();
    },
    open: () => {
      target = lastTarget;
    },
    leadTo: (other) => {
      lastTarget = portOf(other);
      target = lastTarget;
      cut();
    },
    [Symbol.asyncDispose]: async () => {
      cut();
      server.close();
    },
  };
}
