import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text as allOf } from 'node:stream/consumers';
import { knownBy } from '../../../support/nodes/api-access.ts';
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

  /** A Job that has just ended, and may go so long after that. */
  async finishedJob(name: string, ttlSecondsAfterFinished: number): Promise<void> {
    const jobs = '/apis/batch/v1/namespaces/default/jobs';
    const containers = [{ name: 'c', image: 'none' }];
    const template = { spec: { restartPolicy: 'Never', containers } };
    const spec = { ttlSecondsAfterFinished, template };
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name }, spec };
    const made = await this.call('POST', jobs, job);
    if (made.status !== 201) throw new Error(`${name} cannot be made: ${made.text}`);
    const at = new Date().toISOString().replace(/\.\d+Z/, 'Z');
    const times = { lastProbeTime: at, lastTransitionTime: at };
    const conditions = ['SuccessCriteriaMet', 'Complete'].map((type) => ({ type, status: 'True', ...times }));
    const counts = { succeeded: 1, uncountedTerminatedPods: {} };
    const status = { startTime: at, completionTime: at, ...counts, conditions };
    const told = await this.call('PUT', `${jobs}/${name}/status`, { ...JSON.parse(made.text), status });
    if (told.status !== 200) throw new Error(`${name} cannot end: ${told.text}`);
  }

  /** A pod that is being deleted before it was scheduled; somebody's finalizer holds it. */
  async unscheduledPod(name: string): Promise<void> {
    const pods = '/api/v1/namespaces/default/pods';
    const made = await this.call('POST', pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, finalizers: ['example.com/held'] },
      spec: { containers: [{ name: 'c', image: 'none' }] },
    });
    if (made.status !== 201) throw new Error(`${name} cannot be made: ${made.text}`);
    await this.call('DELETE', `${pods}/${name}`, {});
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

  async call(method: 'GET' | 'POST' | 'PUT' | 'DELETE', path: string, body?: unknown): Promise<Answer> {
    const { server, authority, token } = await knownBy(this.#kubeconfig);
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const text = body === undefined ? '' : JSON.stringify(body);
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      // Of a DELETE it is not written by itself.
      'content-length': Buffer.byteLength(text),
    };
    const signal = AbortSignal.timeout(patiently(REQUEST_MS));
    const ca = authority ?? undefined;
    request(new URL(path, server), { method, headers, signal, ...(ca && { ca }) }, resolve)
      .on('error', reject)
      .end(text);
    const response = await promise;
    return { status: response.statusCode ?? 0, text: await allOf(response) };
  }
}
