import type { RuntimeContainer } from '../../../packages/cri/port.ts';
import type { Removable } from '../checks/second-look.ts';

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

const podOf = (labels: RuntimeContainer['labels']): string =>
  `${labels['io.kubernetes.pod.namespace'] ?? ''}/${labels['io.kubernetes.pod.name'] ?? ''}`;
