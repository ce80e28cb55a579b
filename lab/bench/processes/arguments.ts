/** What each script of this folder is given, as JSON. Types alone: the baselines load nothing that is not theirs. */
export interface ScriptArguments {
  readonly 'decide-signed': {
    readonly broker: string;
    readonly rootsFile: string;
    readonly deciderKeyFile: string;
    /** Whose signature every inventory has. */
    readonly nodePublicKey: string;
  };
  readonly 'first-message': { readonly broker: string; readonly topic: string; readonly group: string };
  readonly 'idle-client': {
    readonly broker: string;
    readonly topics: readonly string[];
    readonly repaired: boolean;
  };
  readonly 'list-all': {
    readonly server: string;
    /** Of its certificate, as PEM. */
    readonly authority: string;
    readonly token: string;
  };
  readonly 'many-clusters': {
    readonly brokers: readonly string[];
    readonly clusters: number;
    /** Of each cluster. */
    readonly objects: number;
    /** Of each round, over all its clusters. */
    readonly rollOuts: number;
    readonly perSecond: number;
  };
  readonly 'many-nodes': {
    readonly brokers: readonly string[];
    readonly first: number;
    readonly count: number;
    readonly kind: 'fleetgc' | 'kafkajs';
  };
  readonly 'pass-through': {
    readonly broker: string;
    readonly group: string;
    readonly outputsFile: string;
    readonly checks: boolean;
  };
  readonly relay: {
    readonly brokers: readonly string[];
    /** From topic to topic. */
    readonly hops: readonly (readonly [from: string, to: string])[];
  };
  readonly 'simulated-node': {
    readonly directory: string;
    readonly images: number;
    readonly containers: number;
  };
}
