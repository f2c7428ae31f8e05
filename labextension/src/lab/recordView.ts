/** Records of runs, opened from the file browser: the page that replays one, which a kernel makes and then ends. */

import type { JupyterFrontEnd } from '@jupyterlab/application';
import {
  ABCWidgetFactory,
  DocumentWidget,
  type DocumentRegistry,
  type IDocumentWidget
} from '@jupyterlab/docregistry';
import type { ServiceManager } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { UUID } from '@lumino/coreutils';
import { Widget } from '@lumino/widgets';

import { millIcon } from './icon';

const FILE_TYPE = 'cellmill-record';
const PAGE = 'page';

/** What a kernel answers for an expression; see "user_expressions" in Jupyter's messages. */
interface Answer {
  readonly status: string;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly evalue?: string;
}

/** Have files that end with .cellmill open as what they hold. */
export function addRecords(app: JupyterFrontEnd, trans: TranslationBundle): void {
  const { docRegistry, serviceManager } = app;
  docRegistry.addFileType({
    name: FILE_TYPE,
    displayName: trans.__('Cellmill Record'),
    extensions: ['.cellmill'],
    mimeTypes: ['application/x-cellmill-record'],
    fileFormat: 'base64',
    contentType: 'file',
    icon: millIcon
  });
  docRegistry.addWidgetFactory(
    new RecordFactory(serviceManager, trans, {
      name: 'Cellmill Record',
      label: trans.__('Cellmill Record'),
      modelName: 'base64',
      fileTypes: [FILE_TYPE],
      defaultFor: [FILE_TYPE],
      readOnly: true
    })
  );
}

class RecordFactory extends ABCWidgetFactory<IDocumentWidget<RecordView>> {
  constructor(
    private readonly _services: ServiceManager.IManager,
    private readonly _trans: TranslationBundle,
    options: DocumentRegistry.IWidgetFactoryOptions
  ) {
    super(options);
  }

  protected createNewWidget(context: DocumentRegistry.Context): IDocumentWidget<RecordView> {
    const content = new RecordView(context.path, this._services, this._trans);
    const widget = new DocumentWidget({ content, context });
    widget.title.icon = millIcon;
    return widget;
  }
}

/** The page, or why there is none. */
class RecordView extends Widget {
  constructor(
    path: string,
    private readonly _services: ServiceManager.IManager,
    private readonly _trans: TranslationBundle
  ) {
    super();
    this.addClass('cellmill-record');
    this._say(_trans.__('A kernel reads this record …'), 'status');
    this._show(path).catch((error: unknown) => {
      const reason = error instanceof Error ? error.message : String(error);
      this._say(_trans.__('This record cannot be shown: %1', reason), 'alert');
    });
  }

  private async _show(path: string): Promise<void> {
    const answer = await pageOf(this._services, path);
    if (this.isDisposed) {
      return;
    }
    const html = answer.data?.['text/html'];
    if (typeof html !== 'string') {
      throw new Error(
        (answer.evalue ?? '').includes("'cellmill'")
          ? this._trans.__(
              'the default kernel lacks Cellmill. Install it there (pip install cellmill), or run cellmill.replay(path) in a kernel that has it.'
            )
          : (answer.evalue ?? answer.status)
      );
    }
    const page = new DOMParser().parseFromString(html, 'text/html').querySelector('iframe');
    const frame = document.createElement('iframe');
    frame.title = this._trans.__('Replay of %1', path);
    frame.setAttribute('sandbox', 'allow-scripts');
    frame.name = document.body.dataset.jpThemeLight === 'false' ? 'dark' : 'light'; // the page's look
    frame.srcdoc = page?.srcdoc ?? '';
    this.node.replaceChildren(frame);
  }

  private _say(text: string, role: 'alert' | 'status'): void {
    const said = document.createElement('p');
    said.setAttribute('role', role);
    said.textContent = text;
    this.node.replaceChildren(said);
  }
}

/** Ask a kernel, in the file's folder, for the page; the kernel is ended in any case. */
async function pageOf(services: ServiceManager.IManager, path: string): Promise<Answer> {
  const local = services.contents.localPath(path);
  const file = local.slice(local.lastIndexOf('/') + 1);
  await services.kernelspecs.ready;
  const session = await services.sessions.startNew({
    path: `${local}-${UUID.uuid4()}`,
    name: file,
    type: 'console',
    kernel: { name: services.kernelspecs.specs?.default ?? '' }
  });
  try {
    const reply = await session.kernel?.requestExecute({
      code: '',
      silent: true,
      store_history: false,
      user_expressions: {
        [PAGE]: `__import__('cellmill').replay(${JSON.stringify(file)})`
      }
    }).done;
    const content = reply?.content;
    if (content?.status !== 'ok') {
      return { status: content?.status ?? 'no kernel' };
    }
    return content.user_expressions[PAGE] as unknown as Answer;
  } finally {
    await session.shutdown();
    session.dispose();
  }
}
