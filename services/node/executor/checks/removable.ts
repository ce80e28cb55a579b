import type { ListedContainer, ListedImage, ListedSandbox } from '../../../../packages/cri/listing-types.ts';
import type { Command } from '../../../../schemas/events/command.ts';
import type { ObjectKind } from '../../../../schemas/events/object-kinds.ts';

/** One object that a command names. */
export type CommandItem = Command['items'][number];
export type ItemOf<Kind extends ObjectKind> = Extract<CommandItem, { kind: Kind }>;
type PodLogItem = ItemOf<'pod-log-directory' | 'log-symlink'>;

/** Whether it is an entry of a log directory, of which the runtime knows nothing. */
export function isPodLogEntry(item: CommandItem): item is PodLogItem {
  switch (item.kind) {
    case 'pod-log-directory':
    case 'log-symlink':
      return true;
    case 'container':
    case 'sandbox':
    case 'image':
      return false;
  }
}

/** A listed object that may go. */
export type Removable =
  | { readonly kind: 'image'; readonly image: ListedImage }
  | { readonly kind: 'container'; readonly container: ListedContainer }
  | { readonly kind: 'sandbox'; readonly sandbox: ListedSandbox }
  | PodLogDirectory
  | { readonly kind: 'log-symlink'; readonly name: string };

interface PodLogDirectory {
  readonly kind: 'pod-log-directory';
  readonly name: string;
  readonly podUid: string;
}

/** As people search for it in a log; nobody knows an id. */
export function nameOf(object: Removable): string {
  switch (object.kind) {
    case 'image': {
      const { repoTags, repoDigests, id } = object.image;
      return repoTags[0] ?? repoDigests[0] ?? id;
    }
    case 'container': {
      const { labels, name, attempt } = object.container;
      return `${podOf(labels)}/${name}#${attempt}`;
    }
    case 'sandbox': {
      const { podNamespace, podName, attempt } = object.sandbox;
      return `${podNamespace}/${podName}#${attempt}`;
    }
    case 'pod-log-directory':
    case 'log-symlink':
      return object.name;
  }
}

const podOf = (labels: ListedContainer['labels']): string =>
  `${labels['io.kubernetes.pod.namespace'] ?? ''}/${labels['io.kubernetes.pod.name'] ?? ''}`;
