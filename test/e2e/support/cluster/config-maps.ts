import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { kubeconfigAccess } from '../../../../packages/kube-api/kubeconfig.ts';
import { patiently } from '../../../support/patience.ts';

const REQUEST_MS = 10_000;
const PATH = '/api/v1/namespaces/default/configmaps';

export interface Owner {
  readonly name: string;
  readonly uid: string;
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

/** Objects of the namespace `default`, over a way to the API server that nobody closes. */
export class ConfigMaps {
  readonly #kubeconfig: string;

  constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig;
  }

  async make(name: string, owners: readonly Owner[] = []): Promise<Owner> {
    const ownerReferences = owners.map((owner) => ({ apiVersion: 'v1', kind: 'ConfigMap', ...owner }));
    const metadata = { name, ownerReferences };
    const answer = await this.call('POST', PATH, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    if (answer.status !== 201) throw new Error(`${name} cannot be made: ${answer.text}`);
    return { name, uid: JSON.parse(answer.text).metadata.uid };
  }

  async remove(name: string): Promise<void> {
    await this.call('DELETE', `${PATH}/${name}`, { propagationPolicy: 'Background' });
  }

  async isGone(name: string): Promise<boolean> {
    return (await this.call('GET', `${PATH}/${name}`)).status === 404;
  }

  /** Of the object as it is now. */
  async metadata(name: string): Promise<{ readonly uid: string; readonly resourceVersion: string }> {
    return JSON.parse((await this.call('GET', `${PATH}/${name}`)).text).metadata;
  }

  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
    const { server, authority, token } = kubeconfigAccess(this.#kubeconfig, null);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const headers = { authorization: `Bearer ${token()}`, 'content-type': 'application/json' };
    const signal = AbortSignal.timeout(patiently(REQUEST_MS));
    const ca = authority ?? undefined;
    request(new URL(path, server), { method, headers, signal, ...(ca && { ca }) }, resolve)
      .on('error', reject)
      .end(body === undefined ? undefined : JSON.stringify(body));
    const response = await promise;
    return { status: response.statusCode ?? 0, text: await text(response) };
  }
}
