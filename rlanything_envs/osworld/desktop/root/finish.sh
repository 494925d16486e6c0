#!/bin/sh
# What the packages' own scripts do on installation, as far as a desktop needs it; as root of a sandbox around the
# folder. Everything that is written depends on the packages alone. A change here changes the folder's hash.
set -eu
lib=/usr/lib/$(uname -m)-linux-gnu

cp /usr/share/base-files/profile /etc/profile
cp /usr/share/libc-bin/nsswitch.conf /etc/nsswitch.conf
cp /usr/share/readline/inputrc /etc/inputrc
cp -r /usr/lib/libreoffice/share/.registry/. /etc/libreoffice/registry/
for name in 10-hinting-slight.conf 70-no-bitmaps.conf; do
    ln -sf "/usr/share/fontconfig/conf.avail/$name" /etc/fonts/conf.d/
done
echo a4 > /etc/papersize

ldconfig

alternative() { update-alternatives --quiet --install "$@"; }
alternative /usr/bin/awk awk /usr/bin/mawk 5
alternative /usr/bin/which which /usr/bin/which.debianutils 0
alternative /usr/bin/pager pager /bin/more 50
alternative /usr/bin/open open /usr/bin/xdg-open 50
alternative "$lib/libblas.so.3" "libblas.so.3-$(uname -m)-linux-gnu" "$lib/blas/libblas.so.3" 10
alternative "$lib/liblapack.so.3" "liblapack.so.3-$(uname -m)-linux-gnu" "$lib/lapack/liblapack.so.3" 10
alternative /usr/bin/x-www-browser x-www-browser /usr/bin/chromium 40
alternative /usr/bin/gnome-www-browser gnome-www-browser /usr/bin/chromium 40
alternative /usr/bin/x-terminal-emulator x-terminal-emulator /usr/bin/lxterminal 40
alternative /usr/bin/x-window-manager x-window-manager /usr/bin/openbox 90
alternative /usr/bin/x-session-manager x-session-manager /usr/bin/openbox-session 40
alternative /usr/share/icons/default/index.theme x-cursor-theme /usr/share/icons/Adwaita/cursor.theme 90

"$lib/glib-2.0/glib-compile-schemas" /usr/share/glib-2.0/schemas
"$lib/glib-2.0/gio-querymodules" "$lib/gio/modules"
"$lib/gdk-pixbuf-2.0/gdk-pixbuf-query-loaders" > "$lib/gdk-pixbuf-2.0/2.10.0/loaders.cache"
"$lib/libgtk2.0-0/gtk-query-immodules-2.0" --update-cache
"$lib/libgtk-3-0/gtk-query-immodules-3.0" --update-cache
update-mime-database /usr/share/mime
update-desktop-database -q /usr/share/applications
for theme in /usr/share/icons/*/; do
    if [ -f "$theme/index.theme" ]; then gtk-update-icon-cache --quiet --force "$theme"; fi
done
update-mime
update-dictcommon-aspell
update-dictcommon-hunspell
fc-cache -s -f
python3 -m compileall -q --invalidation-mode unchecked-hash /usr/lib/python3 /usr/lib/python3.11

# Places where the desktop mounts something, and its server.
touch /etc/passwd /etc/group /etc/hostname /etc/machine-id /etc/hosts /etc/resolv.conf
mkdir -p /opt/rlanything/guest /home/user /dev/shm /var/tmp
ln -sfn /run /var/run
